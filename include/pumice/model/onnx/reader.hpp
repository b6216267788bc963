// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Reads the protobuf of an ONNX file into views (detail/proto.hpp). Needs no device, reads no long
// tensor.
#pragma once

#include <pumice/model/onnx/detail/file_image.hpp>
#include <pumice/model/onnx/detail/message.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace onnx {

namespace detail {

/// The messages of onnx.proto, one function each. None calls itself, so no input decides the depth.
class reader : message_reader {
public:
    reader(const source& from, const model_limits& limits) : message_reader(from, limits) {
        model_.from = from;
    }

    model_proto run() {
        bool has_graph = false;
        each(model_.from.bytes, "model", [&](protozero::pbf_reader& m) {
            switch (m.tag_and_type()) {
                case varint(1): model_.ir_version = m.get_int64(); break;
                case bytes(2): model_.producer = to_text(m.get_view()); break;
                case bytes(3): model_.producer_version = to_text(m.get_view()); break;
                case bytes(7):
                    if (std::exchange(has_graph, true)) refuse("has two graphs");
                    graph(to_bytes(m.get_view()));
                    break;
                case bytes(8): model_.opsets.push_back(read_opset(to_bytes(m.get_view()))); break;
                case bytes(25): function(to_bytes(m.get_view())); break;
                default: m.skip();
            }
        });
        if (!has_graph) refuse("has no graph: it is no ONNX model, or it was cut off");
        return std::move(model_);
    }

    model_proto read_graph(span<const std::byte> message, const model_proto& around) {
        model_.ir_version = around.ir_version;
        model_.opsets = around.opsets;
        graph(message);
        return std::move(model_);
    }

    tensor_proto read_tensor(span<const std::byte> message) {
        count();
        tensor_proto t;
        t.message = message;
        each(message, "tensor", [&](protozero::pbf_reader& m) {
            const std::uint32_t tag = m.tag();
            const auto holds = [&](bool any) { t.fields |= std::uint32_t(any) << tag; };
            switch (m.tag_and_type()) {
                case fixed32(4):
                case varint(5):
                case bytes(6):
                case varint(7):
                case fixed64(10):
                case varint(11): holds(true), m.skip(); break;
                case bytes(4):
                case bytes(5):
                case bytes(7):
                case bytes(10):
                case bytes(11): holds(m.get_view().size() > 0); break;
                case varint(1): count(), t.dims.push_back(m.get_int64()); break;
                case bytes(1):
                    for (auto d : m.get_packed_int64()) count(), t.dims.push_back(d);
                    break;
                case varint(2): t.data_type = m.get_int32(); break;
                case bytes(3): t.has_segment = true, m.skip(); break;
                case bytes(8): t.name = to_text(m.get_view()); break;
                case bytes(9): t.raw = to_bytes(m.get_view()), t.has_raw = true, holds(true); break;
                case bytes(13): external(to_bytes(m.get_view()), t.external); break;
                case varint(14):
                    if (const int where = m.get_enum(); where == 0 || where == 1)
                        t.is_external = where == 1;
                    else refuse("has a tensor whose data_location is " + std::to_string(where));
                    break;
                default: m.skip();
            }
        });
        return t;
    }

private:
    /// Of a function only what it is written against is read.
    void function(span<const std::byte> message) {
        count(), ++model_.functions;
        each(message, "function", [&](protozero::pbf_reader& m) {
            if (m.tag_and_type() != bytes(9)) return m.skip();
            model_.function_opsets.push_back(read_opset(to_bytes(m.get_view())));
        });
    }

    void graph(span<const std::byte> message) {
        each(message, "graph", [&](protozero::pbf_reader& m) {
            switch (m.tag_and_type()) {
                case bytes(1):
                    if (std::cmp_equal(model_.nodes.size(), limits().nodes))
                        refuse("has more than " + std::to_string(limits().nodes) +
                               " nodes (model_limits::nodes)");
                    model_.nodes.push_back(read_node(to_bytes(m.get_view())));
                    break;
                case bytes(2): model_.graph_name = to_text(m.get_view()); break;
                case bytes(5):
                    model_.initializers.push_back(read_tensor(to_bytes(m.get_view())));
                    break;
                case bytes(11): model_.inputs.push_back(read_value(to_bytes(m.get_view()))); break;
                case bytes(12): model_.outputs.push_back(read_value(to_bytes(m.get_view()))); break;
                case bytes(13): model_.values.push_back(read_value(to_bytes(m.get_view()))); break;
                case bytes(15): count(), ++model_.sparse_initializers, m.skip(); break;
                default: m.skip();
            }
        });
    }

    opset read_opset(span<const std::byte> message) {
        count();
        opset o;
        each(message, "operator set", [&](protozero::pbf_reader& m) {
            switch (m.tag_and_type()) {
                case bytes(1): o.domain = to_text(m.get_view()); break;
                case varint(2): o.version = m.get_int64(); break;
                default: m.skip();
            }
        });
        return o;
    }

    node_proto read_node(span<const std::byte> message) {
        count();
        node_proto n;
        each(message, "node", [&](protozero::pbf_reader& m) {
            switch (m.tag_and_type()) {
                case bytes(1): count(), n.inputs.push_back(to_text(m.get_view())); break;
                case bytes(2): count(), n.outputs.push_back(to_text(m.get_view())); break;
                case bytes(3): n.name = to_text(m.get_view()); break;
                case bytes(4): n.op_type = to_text(m.get_view()); break;
                case bytes(5):
                    n.attributes.push_back(read_attribute(to_bytes(m.get_view())));
                    break;
                case bytes(7): n.domain = to_text(m.get_view()); break;
                case bytes(8): n.overload = to_text(m.get_view()); break;
                default: m.skip();
            }
        });
        return n;
    }

    attribute read_attribute(span<const std::byte> message) {
        count();
        attribute a;
        const auto found = [&](attribute_type type) {
            if (a.values == 0 || a.type != type) ++a.values;
            a.type = type;
        };
        int declared = 0;
        each(message, "attribute", [&](protozero::pbf_reader& m) {
            switch (m.tag_and_type()) {
                case bytes(1): a.name = to_text(m.get_view()); break;
                case fixed32(2): found(attribute_type::real), a.real = m.get_float(); break;
                case varint(3): found(attribute_type::integer), a.integer = m.get_int64(); break;
                case bytes(4): found(attribute_type::text), a.text = to_text(m.get_view()); break;
                case bytes(5):
                    found(attribute_type::tensor), a.tensor = to_bytes(m.get_view());
                    break;
                case bytes(6):
                    found(attribute_type::graph), a.graph = to_bytes(m.get_view());
                    break;
                case fixed32(7):
                    found(attribute_type::reals), count(), a.reals.push_back(m.get_float());
                    break;
                case bytes(7):
                    found(attribute_type::reals);
                    for (auto v : m.get_packed_float()) count(), a.reals.push_back(v);
                    break;
                case varint(8):
                    found(attribute_type::integers), count(), a.integers.push_back(m.get_int64());
                    break;
                case bytes(8):
                    found(attribute_type::integers);
                    for (auto v : m.get_packed_int64()) count(), a.integers.push_back(v);
                    break;
                case bytes(9):
                    found(attribute_type::texts), count(), a.texts.push_back(to_text(m.get_view()));
                    break;
                case bytes(10): found(attribute_type::tensors), m.skip(); break;
                case bytes(11): found(attribute_type::graphs), m.skip(); break;
                case bytes(21):
                    if (m.get_view().size() > 0)
                        refuse("an attribute refers to one of a function, outside a function");
                    break;
                case varint(20): declared = m.get_enum(); break;
                case bytes(22):
                case bytes(23): found(attribute_type::sparse), m.skip(); break;
                default: m.skip();
            }
        });
        // proto3 leaves out a value that is zero or an empty list; its declared type says what it
        // is.
        if (a.values == 0 && declared > 0 && declared <= 10)
            a.type = static_cast<attribute_type>(declared);
        else if (declared != 0 && declared != static_cast<int>(a.type) &&
                 a.type != attribute_type::sparse)
            refuse("the attribute \"" + std::string(a.name) +
                   "\" is declared as another type than its value has");
        if (a.values > 1)
            refuse("the attribute \"" + std::string(a.name) + "\" has values of two types");
        return a;
    }

    void external(span<const std::byte> message, external_data& into) {
        count();
        std::string_view key, value;
        each(message, "external data", [&](protozero::pbf_reader& m) {
            switch (m.tag_and_type()) {
                case bytes(1): key = to_text(m.get_view()); break;
                case bytes(2): value = to_text(m.get_view()); break;
                default: m.skip();
            }
        });
        constexpr std::pair<std::string_view, std::string_view external_data::*> keys[] = {
            {"location", &external_data::location},
            {"offset", &external_data::offset},
            {"length", &external_data::length}};
        for (const auto& [name, member] : keys) {
            if (key != name) continue;
            if (!(into.*member).empty())
                refuse("names the " + std::string(name) + " of a tensor's data twice");
            into.*member = value;
        }
    }

    value_info read_value(span<const std::byte> message) {
        count();
        value_info v;
        each(message, "value", [&](protozero::pbf_reader& m) {
            switch (m.tag_and_type()) {
                case bytes(1): v.name = to_text(m.get_view()); break;
                case bytes(2): type(to_bytes(m.get_view()), v); break;
                default: m.skip();
            }
        });
        return v;
    }

    /// TypeProto. The types that nest are named and skipped unread.
    void type(span<const std::byte> message, value_info& v) {
        each(message, "type", [&](protozero::pbf_reader& m) {
            constexpr std::pair<std::uint32_t, std::string_view> others[] = {
                {4, "a sequence"},
                {5, "a map"},
                {7, "an opaque type"},
                {8, "a sparse tensor"},
                {9, "an optional value"}};
            for (const auto& [tag, name] : others)
                if (m.tag() == tag) v.kind = name;
            if (m.tag_and_type() != bytes(1)) return m.skip();
            v.is_tensor = true;
            each(to_bytes(m.get_view()), "tensor type", [&](protozero::pbf_reader& t) {
                switch (t.tag_and_type()) {
                    case varint(1): v.elem_type = t.get_int32(); break;
                    case bytes(2):
                        v.has_shape = true, v.dims.clear(), dims(to_bytes(t.get_view()), v);
                        break;
                    default: t.skip();
                }
            });
        });
    }

    void dims(span<const std::byte> message, value_info& v) {
        each(message, "shape", [&](protozero::pbf_reader& m) {
            if (m.tag_and_type() != bytes(1)) return m.skip();
            count();
            dimension d;
            each(to_bytes(m.get_view()), "dimension", [&](protozero::pbf_reader& f) {
                switch (f.tag_and_type()) {
                    case varint(1): d.size = f.get_int64(); break;
                    case bytes(2): d.symbol = to_text(f.get_view()); break;
                    default: f.skip();
                }
            });
            if (d.size < -1)
                refuse("the value \"" + std::string(v.name) + "\" has a negative dimension");
            v.dims.push_back(d);
        });
    }

    model_proto model_;
};

/// What a file that is no model begins like, and what to do then; empty where that is not known.
inline std::string beginning_of(span<const std::byte> bytes) {
    if (bytes.empty()) return "the file is empty";
    const struct {
        std::string_view magic, text;
    } known[] = {
        {"version https://git-lfs", "it is a Git LFS pointer: fetch the file with git lfs pull"},
        {"PK\x03\x04", "it is a zip archive, as PyTorch writes: export the model to ONNX"},
        {"\x89HDF", "it is an HDF5 file, as Keras writes: convert it with tf2onnx"},
        {"GGUF", "it is a GGUF file"},
        {"\x89PNG", "it is a PNG image"},
        {"<", "it begins like a web page: was the page saved and not the file?"},
    };
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    for (const auto& k : known)
        if (text.starts_with(k.magic)) return std::string(k.text);
    return {};
}

}  // namespace detail

/// Reads a file's structure. Throws errc::bad_file with the file and the offset or name.
inline model_proto read(const source& from, const model_limits& limits = {}) {
    try {
        return detail::reader(from, limits).run();
    } catch (const error& e) {
        std::vector<std::string> reasons = e.reasons();
        if (std::string why = detail::beginning_of(from.bytes); !why.empty())
            reasons.push_back(std::move(why));
        throw error(e.code(), e.where(), e.message(), std::move(reasons));
    }
}

/// The TensorProto of an attribute.
inline tensor_proto read_tensor(const source& from, span<const std::byte> message,
                                const model_limits& limits = {}) {
    return detail::reader(from, limits).read_tensor(message);
}

/// The GraphProto of an attribute, as the graph of a model with what else the one around it has.
inline model_proto read_graph(span<const std::byte> message, const model_proto& around,
                              const model_limits& limits = {}) {
    return detail::reader(around.from, limits).read_graph(message, around);
}

/// Reads a file's structure; long data of tensors is read when it is uploaded. Throws
/// errc::io_failed too.
inline model_proto read(const std::filesystem::path& path, const model_limits& limits = {}) {
    return read(detail::open_image(path, limits), limits);
}

}}}  // namespace pumice::PUMICE_ABI::onnx
