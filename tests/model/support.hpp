// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What the model tests share: ONNX files written byte by byte, an engine that only stores, the data
// folder.
#pragma once

#include <pumice/model/detail/constant.hpp>
#include <pumice/model/onnx/detail/proto.hpp>
#include <pumice/tensor/context.hpp>

#include <tests/support/files.hpp>
#include <tests/support/skip.hpp>
#include <tests/support/thrown.hpp>

#include <doctest/doctest.h>
#include <protozero/pbf_writer.hpp>

#include <set>

namespace pumice_test {

/// The code and text of what f throws; fails the test where it throws nothing.
template <class F>
std::pair<pumice::errc, std::string> thrown_by(F&& f) {
    const pumice::error e = test::thrown_by(f);
    return {e.code(), e.what()};
}

inline bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != text.npos;
}

/// Field by field, so that files can be written that no ONNX tool would write.
struct message {
    std::string bytes;
    message& number(std::uint32_t tag, std::int64_t v) {
        return protozero::pbf_writer(bytes).add_int64(tag, v), *this;
    }
    message& real(std::uint32_t tag, float v) {
        return protozero::pbf_writer(bytes).add_float(tag, v), *this;
    }
    message& text(std::uint32_t tag, std::string_view v) {
        return protozero::pbf_writer(bytes).add_string(tag, v.data(), v.size()), *this;
    }
    message& put(std::uint32_t tag, const message& m) { return text(tag, m.bytes); }
    message& numbers(std::uint32_t tag, const std::vector<std::int64_t>& v) {
        return protozero::pbf_writer(bytes).add_packed_int64(tag, v.begin(), v.end()), *this;
    }
    message& reals(std::uint32_t tag, const std::vector<float>& v) {
        return protozero::pbf_writer(bytes).add_packed_float(tag, v.begin(), v.end()), *this;
    }
    std::span<const std::byte> view() const { return std::as_bytes(std::span(bytes)); }
};

inline message attribute(std::string_view name, std::int64_t v) {
    return message{}.text(1, name).number(3, v).number(20, 2);
}
inline message attribute(std::string_view name, float v) {
    return message{}.text(1, name).real(2, v).number(20, 1);
}
inline message attribute(std::string_view name, const char* v) {
    return message{}.text(1, name).text(4, v).number(20, 3);
}
inline message attribute(std::string_view name, const std::vector<std::int64_t>& v) {
    return message{}.text(1, name).numbers(8, v).number(20, 7);
}
inline message attribute(std::string_view name, const message& tensor) {
    return message{}.text(1, name).put(5, tensor).number(20, 4);
}

inline message tensor_of(std::string_view name, std::int64_t type,
                         const std::vector<std::int64_t>& dims) {
    return message{}.numbers(1, dims).number(2, type).text(8, name);
}
inline message floats(std::string_view name, const std::vector<std::int64_t>& dims,
                      const std::vector<float>& values) {
    return tensor_of(name, 1, dims).reals(4, values);
}
inline message longs(std::string_view name, const std::vector<std::int64_t>& dims,
                     const std::vector<std::int64_t>& values) {
    return tensor_of(name, 7, dims).numbers(7, values);
}

/// A dimension below 0 is written as the symbol "d", and -2 as none at all.
inline message value_of(std::string_view name, std::int64_t type,
                        const std::vector<std::int64_t>& dims, std::string_view symbol = "d") {
    message shape;
    for (std::int64_t d : dims)
        shape.put(1, d >= 0 || d < -2 ? message{}.number(1, d)
                     : d == -1        ? message{}.text(2, symbol)
                                      : message{});
    return message{}.text(1, name).put(2,
                                       message{}.put(1, message{}.number(1, type).put(2, shape)));
}

inline message node_of(std::string_view op, const std::vector<std::string>& in,
                       const std::vector<std::string>& out,
                       const std::vector<message>& attributes = {}, std::string_view name = "",
                       std::string_view domain = "") {
    message m;
    for (const auto& i : in) m.text(1, i);
    for (const auto& o : out) m.text(2, o);
    if (!name.empty()) m.text(3, name);
    m.text(4, op);
    for (const auto& a : attributes) m.put(5, a);
    if (!domain.empty()) m.text(7, domain);
    return m;
}

/// A model around a graph; fields of GraphProto: 1 node, 5 initializer, 11 input, 12 output.
inline message model_of(const message& graph, std::int64_t opset = 20,
                        std::string_view domain = "") {
    message m = message{}.number(1, 8).put(7, graph).put(8, message{}.text(1, "").number(2, opset));
    if (!domain.empty()) m.put(8, message{}.text(1, domain).number(2, 1));
    return m;
}

/// The bytes of a message as a file that a model can be read from.
inline pumice::onnx::source source_of(const message& m) {
    auto keep = std::make_shared<const std::string>(m.bytes);
    return {"test", std::as_bytes(std::span(*keep)), keep, {}, false};
}

/// Keeps what it is given, runs nothing: enough to load models.
class storing_engine final : public pumice::engine {
public:
    storing_engine() : engine(pumice::policy_set{}) {}
    pumice::node_ptr create(pumice::dtype type, const pumice::shape& extent,
                            const void* bytes) override {
        const auto* from = static_cast<const std::byte*>(bytes);
        const auto n =
            static_cast<std::size_t>(pumice::byte_count(type, pumice::element_count(extent)));
        auto t = pumice::make_constant(type, extent,
                                       from ? std::vector<std::byte>(from, from + n)
                                            : std::vector<std::byte>(n));
        t.get()->owner = shared_from_this();
        ++counts.uploads;
        return t.get();
    }
    void eval(pumice::span<const pumice::node_ptr> roots) override {
        counts.evals += !roots.empty();
    }
    void read(const pumice::node_ptr&, void*) override {
        throw pumice::error(pumice::errc::unsupported, "storing_engine", "runs nothing");
    }
    void write(const pumice::node_ptr& n, std::int64_t begin,
               pumice::span<const std::byte> bytes) override {
        const auto held = static_cast<const pumice::host_constant&>(*n->data).bytes();
        std::memcpy(const_cast<std::byte*>(held.data()) + begin, bytes.data(), bytes.size());
    }
    std::byte* host(const pumice::node_ptr&, bool) override { return nullptr; }
    std::shared_ptr<pumice::prepared_graph> prepare(const pumice::traced_graph&,
                                                    pumice::graph_preparer*) override {
        return nullptr;
    }
    pumice::statistics stats() const override { return counts; }
    std::string explain(const pumice::node_ptr&) override { return {}; }
    const pumice::device_info& device() const override { return info; }
    std::string device_report() const override { return {}; }

    pumice::statistics counts;
    pumice::device_info info;
};

inline pumice::context storing_context() {
    return pumice::context(std::make_shared<storing_engine>());
}

}  // namespace pumice_test
