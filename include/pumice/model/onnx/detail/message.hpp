// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// How protobuf messages of a file are walked: field by field, with the offset of what is broken.
#pragma once

#include <pumice/model/onnx/detail/proto.hpp>

#include <protozero/pbf_reader.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace onnx { namespace detail {

using protozero::pbf_wire_type;

/// A field number with its wire type, as protozero's tag_and_type() gives it: what is switched on,
/// so that a field of the wrong wire type is skipped like an unknown one and never misread.
constexpr std::uint32_t varint(std::uint32_t tag) {
    return protozero::tag_and_type(tag, pbf_wire_type::varint);
}
constexpr std::uint32_t bytes(std::uint32_t tag) {
    return protozero::tag_and_type(tag, pbf_wire_type::length_delimited);
}
constexpr std::uint32_t fixed32(std::uint32_t tag) {
    return protozero::tag_and_type(tag, pbf_wire_type::fixed32);
}
constexpr std::uint32_t fixed64(std::uint32_t tag) {
    return protozero::tag_and_type(tag, pbf_wire_type::fixed64);
}

inline std::string_view to_text(protozero::data_view v) { return {v.data(), v.size()}; }
inline span<const std::byte> to_bytes(protozero::data_view v) {
    return as_bytes(span(v.data(), v.size()));
}
inline protozero::data_view to_view(span<const std::byte> b) {
    return {reinterpret_cast<const char*>(b.data()), b.size()};
}

/// What every reader of messages shares: the file for messages, the limit on items.
class message_reader {
protected:
    message_reader(const source& from, const model_limits& limits) : from_(from), limits_(limits) {}

    [[noreturn]] void refuse(const std::string& why) const {
        throw error(errc::bad_file, "onnx", from_.name + ": " + why);
    }

    /// Every repeated thing passes here, so that a small file cannot ask for much memory.
    void count() {
        if (++items_ > limits_.items)
            refuse("holds more than " + std::to_string(limits_.items) +
                   " items (model_limits::items)");
    }

    template <class F>
    void each(span<const std::byte> message, const char* what, F&& field) const {
        protozero::pbf_reader m(to_view(message));
        const char* at = m.data().data();
        try {
            while (m.next()) {
                must_fit(m);
                field(m);
                at = m.data().data();
            }
        } catch (const protozero::end_of_buffer_exception&) {
            refuse(place(at, what) +
                   "ends in the middle: the file was cut off, or is no ONNX model");
        } catch (const protozero::exception& e) {
            refuse(place(at, what) + e.what());
        }
    }

    const model_limits& limits() const noexcept { return limits_; }

    source from_;

private:
    /// protozero keeps the lower 32 bits of a length.
    static void must_fit(const protozero::pbf_reader& m) {
        if (m.wire_type() != pbf_wire_type::length_delimited) return;
        const auto left = m.data();
        const char* begin = left.data();
        const char* const end = begin + left.size();
        if (protozero::decode_varint(&begin, end) > static_cast<std::uint64_t>(end - begin))
            throw protozero::end_of_buffer_exception{};
    }

    std::string place(const char* at, const char* what) const {
        const auto offset = at - reinterpret_cast<const char*>(from_.bytes.data());
        return "offset " + std::to_string(offset) + " (" + what + "): ";
    }

    model_limits limits_;
    std::int64_t items_ = 0;
};

}}}}  // namespace pumice::PUMICE_ABI::onnx::detail
