// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// libFuzzer's target for ONNX files: any bytes are read, planned, and their shapes inferred, or
// refused by a pumice::error. No device. Half of the mutations are made of protobuf: fields of a
// message, at any depth, are changed and the lengths around them kept true, since bytes changed at
// random seldom get past the reader.
#include <pumice.hpp>
#include <pumice/model/model.hpp>

#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include <algorithm>
#include <random>

namespace pm = pumice;

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace {

/// What keeps one input quick: the loader has to obey it.
pm::model_limits small_limits() {
    pm::model_limits limits;
    limits.items = 1 << 14;
    limits.typed_bytes = 1 << 20;
    limits.folded_elements = 1 << 10;
    limits.folded_work = 1 << 16;
    return limits;
}

void plan(std::span<const std::byte> bytes) {
    const pm::model_limits limits = small_limits();
    const auto keep = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
    pm::onnx::resolved_model p =
        pm::onnx::resolve(pm::onnx::read({"fuzz", *keep, keep, {}, false}, limits), limits);
    std::vector<pm::any_tensor> inputs;
    for (const pm::onnx::value_info& v : p.input_info) {
        pm::shape extent;
        for (const pm::onnx::dimension& d : v.dims) extent.push_back(d.size < 0 ? 2 : d.size);
        inputs.push_back(pm::make_abstract(*pm::onnx::to_dtype(v.elem_type), extent));
    }
    pm::onnx::build_graph(p, inputs, nullptr);
}

/// A field of a message: its key and, without their length, its bytes.
struct field {
    std::uint32_t tag;
    protozero::pbf_wire_type type;
    std::string value;
};

std::vector<field> fields_of(const std::string& message) {
    std::vector<field> list;
    protozero::pbf_reader m(message);
    while (m.next()) {
        field f{m.tag(), m.wire_type(), {}};
        if (f.type == protozero::pbf_wire_type::length_delimited) {
            f.value = m.get_string();
        } else {
            const auto begin = m.data();
            m.skip();
            f.value.assign(begin.data(), begin.size() - m.length());
        }
        list.push_back(std::move(f));
    }
    return list;
}

std::string message_of(const std::vector<field>& list) {
    std::string out;
    for (const field& f : list) {
        protozero::add_varint_to_buffer(&out, f.tag << 3 | static_cast<std::uint32_t>(f.type));
        if (f.type == protozero::pbf_wire_type::length_delimited)
            protozero::add_varint_to_buffer(&out, f.value.size());
        out += f.value;
    }
    return out;
}

/// Text may look like a message too, and is tried as one.
bool may_hold_message(const field& f) {
    return f.type == protozero::pbf_wire_type::length_delimited && f.value.size() >= 2;
}

std::string mutated(const std::string& message, std::minstd_rand& random, int depth) {
    std::vector<field> list = fields_of(message);
    if (list.empty()) throw protozero::exception();
    field& f = list[random() % list.size()];
    if (depth < 5 && may_hold_message(f) && random() % 4 != 0) {
        try {
            f.value = mutated(f.value, random, depth + 1);
            return message_of(list);
        } catch (const protozero::exception&) {  // it is text or a list, and is changed below
        }
    }
    const std::size_t at = random() % list.size();
    switch (random() % 6) {
        case 0: list.erase(list.begin() + static_cast<std::ptrdiff_t>(at)); break;
        case 1: list.push_back(f); break;
        case 2: std::swap(f, list[at]); break;
        case 3: f.value = field(list[at]).value; break;
        case 4: f.tag = 1 + static_cast<std::uint32_t>(random() % 26); break;
        default: {
            if (f.type == protozero::pbf_wire_type::varint) {
                static constexpr std::int64_t odd[] = {
                    0,     1,     -1,        2,         7,         8,        127,
                    32767, 65536, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
                f.value.clear();
                protozero::add_varint_to_buffer(&f.value,
                                                static_cast<std::uint64_t>(odd[random() %
                                                                               std::size(odd)]));
                break;
            }
            const std::size_t fixed = f.value.size();
            f.value.resize(fixed + 16);
            f.value.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(f.value.data()), fixed,
                                            fixed + 16));
            if (f.type != protozero::pbf_wire_type::length_delimited) f.value.resize(fixed);
        }
    }
    return message_of(list);
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
    std::minstd_rand random(seed + 1);
    if (random() % 2 == 0) try {
            const std::string out = mutated({reinterpret_cast<const char*>(data), size}, random, 0);
            if (!out.empty() && out.size() <= most) {
                std::copy(out.begin(), out.end(), data);
                return out.size();
            }
        } catch (const protozero::exception&) {
        }
    return LLVMFuzzerMutate(data, size, most);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        plan(std::as_bytes(std::span(data, size)));
    } catch (const pm::error&) {
    }
    return 0;
}
