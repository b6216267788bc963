// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Writes the bytes of a package: weights one at a time, and the whole under its name at last.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/package/detail/format.hpp>
#include <pumice/package/package.hpp>
#include <pumice/slang/detail/os.hpp>

#include <cerrno>
#include <fstream>
#include <functional>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

/// What a package is written from. The same gives the same bytes.
struct package_source {
    struct weight {
        std::string name;
        pumice::dtype type;
        std::uint64_t bytes;
    };
    const package_contents& signature;
    std::string graph;
    std::vector<weight> weights;
    std::function<array_list<std::byte>(std::size_t)> bytes_of;  // of a weight
    std::vector<std::pair<std::string, std::string>> kernels;    // device and pack
    std::function<flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<tables::Node>>>(
        flatbuffers::FlatBufferBuilder&)>
        nodes;
};

class package_writer {
public:
    package_writer(std::filesystem::path to, package_form form, const package_source& from)
        : to_(std::move(to)), temporary_(to_.string() + "." + unique_name()), from_(from),
          folder_(form == package_form::folder) {}
    package_writer(const package_writer&) = delete;
    package_writer& operator=(const package_writer&) = delete;
    ~package_writer() {
        out_.close();
        std::error_code ignored;
        std::filesystem::remove_all(temporary_, ignored);  // where it is still there
    }

    /// Throws errc::io_failed, and has left nothing then.
    void write() {
        must_be_little_endian();
        weights_.resize(from_.weights.size());
        kernels_.resize(from_.kernels.size());
        const std::size_t index = make_index().size();  // numbers do not change how long it is
        if (folder_) {
            std::error_code failed;
            if (std::filesystem::exists(to_, failed))
                fail(errc::io_failed, "package",
                     {to_.string(), ": is there already; remove it, or name another folder"});
            std::filesystem::create_directories(temporary_ / package_part, failed);
            if (failed) refuse(failed);
        } else {
            open(temporary_);
            put(std::string(package_header::size + index, '\0'));
        }
        graph_ = with(section(package_graph, [&] { put(from_.graph); }), digest_of(from_.graph));
        all_ = section(package_weights, [&] { put_weights(); });
        for (std::size_t i = 0; i < kernels_.size(); ++i)
            kernels_[i] = with(section(package_kernels(i), [&] { put(from_.kernels[i].second); }),
                               digest_of(from_.kernels[i].second));
        const std::uint64_t end = folder_ ? package_header::size + index : at_;
        const std::string made = make_index();
        if (folder_) open(temporary_ / package_index);
        else out_.seekp(0);
        put(package_header{made.size(), end}.with(made));
        close();
        std::error_code failed;
        std::filesystem::rename(temporary_, to_, failed);
        if (failed) refuse(failed);
    }

private:
    template <class Put>
    tables::Section section(std::string_view name, const Put& write_it) {
        if (folder_) open(temporary_ / name);
        else pad();
        const std::uint64_t begin = at_;
        write_it();
        const std::uint64_t bytes = at_ - begin;
        if (folder_) close();
        return {begin, bytes, 0, 0};
    }
    static tables::Section with(const tables::Section& s, const digest& d) {
        return {s.begin(), s.bytes(), d.high, d.low};
    }
    void put_weights() {
        const std::uint64_t first = at_;
        for (std::size_t i = 0; i < weights_.size(); ++i) {
            pad();
            const std::uint64_t begin = at_ - first;
            const array_list<std::byte> made = from_.bytes_of(i);
            const std::string_view bytes(reinterpret_cast<const char*>(made.data()), made.size());
            put(bytes);
            weights_[i] = with({begin, bytes.size(), 0, 0}, digest_of(bytes));
        }
    }
    void pad() { put(std::string(static_cast<std::size_t>(aligned_up(at_) - at_), '\0')); }
    void put(std::string_view bytes) {
        out_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        at_ += bytes.size();
        must(out_.good());
    }
    void open(const std::filesystem::path& file) {
        out_.open(file, std::ios::binary);
        at_ = 0;
        must(out_.good());
    }
    void close() {
        out_.close();
        must(out_.good());
    }
    void must(bool good) const {
        if (!good) refuse(std::error_code(errno, std::generic_category()));
    }
    [[noreturn]] void refuse(const std::error_code& why) const {
        fail(errc::io_failed, "package", {to_.string(), ": cannot be written: ", why.message()});
    }

    /// With the numbers that are known so far.
    std::string make_index() const {
        flatbuffers::FlatBufferBuilder b;
        b.ForceDefaults(true);
        const auto text = [&](std::string_view s) { return b.CreateString(s.data(), s.size()); };
        const auto values = [&](const std::vector<package_value>& list) {
            std::vector<flatbuffers::Offset<tables::Value>> made;
            for (const package_value& v : list) {
                const std::vector<std::int64_t> extents(v.shape.begin(), v.shape.end());
                const auto name = text(v.name), type = text(to_string(v.dtype));
                const auto shape = b.CreateVector(extents);
                const auto scale = b.CreateVector(v.scale);
                const auto zeros = b.CreateVector(v.zero_point);
                made.push_back(tables::CreateValue(b, name, type, shape, scale, zeros,
                                                   v.axis ? *v.axis : -1));
            }
            return b.CreateVector(made);
        };
        const auto name = text(from_.signature.name);
        const auto inputs = values(from_.signature.inputs);
        const auto outputs = values(from_.signature.outputs);
        std::vector<flatbuffers::Offset<tables::Weight>> weights;
        for (std::size_t i = 0; i < weights_.size(); ++i) {
            const auto its = text(from_.weights[i].name);
            const auto type = text(to_string(from_.weights[i].type));
            weights.push_back(tables::CreateWeight(b, its, type, &weights_[i]));
        }
        const auto constants = b.CreateVector(weights);
        std::vector<flatbuffers::Offset<tables::Kernels>> packs;
        for (std::size_t i = 0; i < kernels_.size(); ++i) {
            const auto device = text(from_.kernels[i].first);
            packs.push_back(tables::CreateKernels(b, device, &kernels_[i]));
        }
        const auto kernels = b.CreateVector(packs);
        const auto nodes = from_.nodes(b);
        b.Finish(tables::CreatePackage(b, name, inputs, outputs, &graph_, &all_, constants, kernels,
                                       nodes),
                 tables::PackageIdentifier());
        return {reinterpret_cast<const char*>(b.GetBufferPointer()), b.GetSize()};
    }

    std::filesystem::path to_, temporary_;
    const package_source& from_;
    bool folder_;
    std::ofstream out_;
    std::uint64_t at_ = 0;
    tables::Section graph_, all_;
    std::vector<tables::Section> weights_, kernels_;
};

}}}  // namespace pumice::PUMICE_ABI::detail
