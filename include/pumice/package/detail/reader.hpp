// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A package's bytes, checked: what its tables say is taken only where the bytes are there, and
// where the checksum of what is read is right. Weights are left where they lie.
#pragma once

#include <pumice/core/shape.hpp>
#include <pumice/model/mapped_file.hpp>
#include <pumice/package/detail/format.hpp>
#include <pumice/package/package.hpp>

#include <set>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

class package_reader {
public:
    /// Reads and checks header and index. Throws errc::io_failed, errc::bad_file.
    explicit package_reader(const std::filesystem::path& from)
        : from_(from), folder_(std::filesystem::is_directory(from)) {
        must_be_little_endian();
        file_ = folder_ ? input_file::open_beneath(from, package_index) : input_file::open(from);
        read_index();
        check_sections();
        for (const tables::Value* v : *index_->inputs()) contents_.inputs.push_back(value_of(*v));
        for (const tables::Value* v : *index_->outputs()) contents_.outputs.push_back(value_of(*v));
        contents_.name = index_->name()->str();
        contents_.weight_bytes = static_cast<std::int64_t>(index_->weights()->bytes());
        for (const tables::Kernels* k : *index_->kernels())
            contents_.devices.push_back(k->device()->str());
        for (const tables::Node* n : *index_->nodes())
            contents_.compute_nodes.push_back(n->name()->str());
        check_constants();
    }

    /// Whether the file, or the index of the folder, begins as a package.
    static bool has_magic(const std::filesystem::path& from) {
        const auto file = std::filesystem::is_directory(from)
                              ? input_file::open_beneath(from, package_index)
                              : input_file::open(from);
        return file->size() >= package_header::size && begins_right(file->read(0, 8));
    }

    const tables::Package& index() const noexcept { return *index_; }
    const package_contents& contents() const noexcept { return contents_; }

    std::string graph() const { return read(*index_->graph(), package_graph, "the graph"); }
    std::string kernels(std::size_t i) const {
        return read(*index_->kernels()->Get(static_cast<flatbuffers::uoffset_t>(i))->at(),
                    package_kernels(i), "a pack of kernels");
    }

    /// The file that has the weights, and where they begin in it.
    std::shared_ptr<const input_file> weights_file() const {
        return folder_ ? part(*index_->weights(), package_weights) : file_;
    }
    std::uint64_t weights_begin() const { return folder_ ? 0 : index_->weights()->begin(); }

    /// Reads all of the weights. Throws errc::bad_file where one is not what was written.
    void check_weights() const {
        const auto file = weights_file();
        const mapped_file bytes(*file);
        std::uint64_t end = 0;
        for (const tables::Weight* w : *index_->constants()) {
            const std::byte* const first = bytes.data() + weights_begin();
            for (; end < w->at()->begin(); ++end)
                if (first[end] != std::byte{}) refuse({"there are bytes between the weights"});
            const std::string_view text(reinterpret_cast<const char*>(first + end),
                                        static_cast<std::size_t>(w->at()->bytes()));
            if (digest_of(text) != digest{w->at()->high(), w->at()->low()})
                refuse({"the weight ", w->name() ? w->name()->string_view() : "", " is damaged"});
            end += w->at()->bytes();
        }
    }

    std::string file() const { return from_.string(); }
    [[noreturn]] void refuse(std::initializer_list<piece> why) const {
        fail(errc::bad_file, "package", {file(), ": ", cat(why)});
    }
    dtype type_of(const flatbuffers::String& name) const {
        for (std::size_t i = 0; i < dtype_table.size(); ++i)
            if (dtype_table[i].name == name.string_view()) return static_cast<dtype>(i);
        refuse({"there is no element type ", name.string_view().substr(0, 64)});
    }
    /// FlatBuffers' verifier does not ask where the numbers of a list begin.
    void must_be_aligned(const flatbuffers::Vector<std::int64_t>& list) const {
        if (reinterpret_cast<std::uintptr_t>(list.Data()) % alignof(std::int64_t) != 0)
            refuse({"it is damaged: a list lies between words"});
    }
    shape shape_of(const flatbuffers::Vector<std::int64_t>& list) const {
        if (list.size() > max_rank) refuse({"a shape of ", list.size(), " axes"});
        must_be_aligned(list);
        shape s;
        double count = 1;
        for (const std::int64_t n : list) {
            count *= static_cast<double>(n);
            if (n < 0 || count > 0x1p56) refuse({"a shape that cannot be"});
            s.push_back(n);
        }
        return s;
    }

private:
    static bool begins_right(span<const std::byte> bytes) {
        for (std::size_t i = 0; i < package_header::magic.size(); ++i)
            if (static_cast<char>(bytes[i]) != package_header::magic[i]) return false;
        return true;
    }

    void read_index() {
        constexpr std::uint64_t most = std::uint64_t{1} << 28;
        if (file_->size() < package_header::size) refuse({"this is no package"});
        std::vector<std::byte> bytes = file_->read(0, package_header::size);
        if (!begins_right(bytes)) refuse({"this is no package"});
        if (const auto v = package_header::number(bytes, 8, 4); v != package_header::version)
            refuse({"a package of version ", v, "; this program reads version ",
                    package_header::version, ": save it anew"});
        const std::uint64_t length = package_header::number(bytes, 16);
        if (package_header::number(bytes, 24) != file_->size())
            refuse({"it has ", file_->size(), " bytes, not the ", package_header::number(bytes, 24),
                    " that were written"});
        if (length > most || length > file_->size() - package_header::size)
            refuse({"it is damaged: the index does not lie in the file"});
        const digest kept{package_header::number(bytes, 40), package_header::number(bytes, 32)};
        for (std::size_t i = 32; i < 48; ++i) bytes[i] = {};
        bytes_ = file_->read(package_header::size, static_cast<std::size_t>(length));
        bytes.insert(bytes.end(), bytes_.begin(), bytes_.end());
        if (digest_of({reinterpret_cast<const char*>(bytes.data()), bytes.size()}) != kept)
            refuse({"it is damaged: the index is not what was written"});
        constexpr flatbuffers::uoffset_t deepest = 16, most_tables = 1u << 24;
        flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(bytes_.data()),
                                       bytes_.size(), deepest, most_tables);
        if (length == 0 || !tables::VerifyPackageBuffer(verifier))
            refuse({"it is damaged: the index is no table"});
        index_ = tables::GetPackage(bytes_.data());
    }

    /// They lie one behind the other, as long as they say, and nothing lies behind them.
    void check_sections() {
        std::uint64_t end = package_header::size + bytes_.size();
        const auto next = [&](const tables::Section& s, const char* what) {
            const std::uint64_t begin = folder_ ? 0 : aligned_up(end);
            const std::uint64_t size = file_->size();
            if (s.begin() != begin || (!folder_ && (begin > size || s.bytes() > size - begin)))
                refuse({"it is damaged: ", what, " lies where it cannot"});
            if (!folder_) end = begin + s.bytes();
        };
        next(*index_->graph(), "the graph");
        next(*index_->weights(), "weights");
        for (const tables::Kernels* k : *index_->kernels()) next(*k->at(), "a pack of kernels");
        if (end != file_->size()) refuse({"it is damaged: there are bytes behind its parts"});
    }
    void check_constants() const {
        std::uint64_t end = 0;
        for (const tables::Weight* w : *index_->constants()) {
            type_of(*w->type());
            const std::uint64_t begin = aligned_up(end), all = index_->weights()->bytes();
            if (w->at()->begin() != begin || begin > all || w->at()->bytes() > all - begin)
                refuse({"it is damaged: a weight lies where it cannot"});
            end = begin + w->at()->bytes();
        }
        if (end != index_->weights()->bytes())
            refuse({"it is damaged: there are bytes behind the weights"});
        std::set<std::string_view> names;
        for (const auto* list : {&contents_.inputs, &contents_.outputs}) {
            names.clear();
            for (const package_value& v : *list)
                if (!names.insert(v.name).second)
                    refuse({"two values are called \"", v.name, "\""});
        }
    }
    package_value value_of(const tables::Value& v) const {
        package_value made{v.name()->str(), type_of(*v.type()), shape_of(*v.shape())};
        if (v.scale()) made.scale.assign(v.scale()->begin(), v.scale()->end());
        if (v.zero_point()) {
            must_be_aligned(*v.zero_point());
            made.zero_point.assign(v.zero_point()->begin(), v.zero_point()->end());
        }
        const std::int64_t axis = v.axis();
        if (axis < -1 || axis >= made.shape.rank()) refuse({"an axis that a value has not"});
        if (axis >= 0) made.axis = axis;
        const std::int64_t scales = made.axis ? made.shape[static_cast<int>(axis)] : 1;
        if ((!made.scale.empty() && std::ssize(made.scale) != scales) ||
            (!made.zero_point.empty() && made.zero_point.size() != made.scale.size()))
            refuse({"\"", made.name, "\" has ", made.scale.size(), " scales and ",
                    made.zero_point.size(), " zero points"});
        return made;
    }

    std::shared_ptr<const input_file> part(const tables::Section& s, std::string_view name) const {
        std::shared_ptr<const input_file> file = input_file::open_beneath(from_, name);
        if (file->size() != s.bytes())
            refuse({name, " has ", file->size(), " bytes, not the ", s.bytes(),
                    " that were written"});
        return file;
    }
    std::string read(const tables::Section& s, std::string_view name, const char* what) const {
        const auto file = folder_ ? part(s, name) : file_;
        std::string text(static_cast<std::size_t>(s.bytes()), '\0');
        file->read(s.begin(), as_writable_bytes(span(text)));
        if (digest_of(text) != digest{s.high(), s.low()})
            refuse({"it is damaged: ", what, " is not what was written"});
        return text;
    }

    std::filesystem::path from_;
    bool folder_;
    std::shared_ptr<const input_file> file_;
    std::vector<std::byte> bytes_;  // of the index
    const tables::Package* index_ = nullptr;
    package_contents contents_;
};

}}}  // namespace pumice::PUMICE_ABI::detail
