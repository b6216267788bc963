// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// THE table of ONNX operators. An elementwise operator needs no row: its line in expr/ops.hpp
// carries its ONNX name. The others are rows here, a name and a builder over graph ops. What
// operator sets give each is in detail/schemas.hpp, which tests/model/onnx/make_schemas.py writes
// anew when an operator is added.
#pragma once

#include <pumice/model/detail/model_options.hpp>
#include <pumice/model/onnx/detail/constant.hpp>
#include <pumice/model/onnx/detail/control.hpp>
#include <pumice/model/onnx/detail/elementwise.hpp>
#include <pumice/model/onnx/detail/gather.hpp>
#include <pumice/model/onnx/detail/quantized.hpp>
#include <pumice/model/onnx/detail/reduce.hpp>
#include <pumice/model/onnx/detail/schemas.hpp>
#include <pumice/model/onnx/detail/shader.hpp>
#include <pumice/model/onnx/detail/slice.hpp>
#include <pumice/model/onnx/detail/window.hpp>

#include <algorithm>
#include <array>

namespace pumice { inline namespace PUMICE_ABI { namespace onnx {

// clang-format off
inline constexpr std::array op_table{
    // name                           builder
    op_row{"ArgMax",                  &build::arg_max},
    op_row{"ArgMin",                  &build::arg_min},
    op_row{"AveragePool",             &build::average_pool},
    op_row{"BatchNormalization",      &build::batch_normalization},
    op_row{"BitShift",                &build::bit_shift},
    op_row{"Cast",                    &build::cast},
    op_row{"CastLike",                &build::cast_like},
    op_row{"Clip",                    &build::clip},
    op_row{"Concat",                  &build::join},
    op_row{"Constant",                &build::constant},
    op_row{"ConstantOfShape",         &build::constant_of_shape},
    op_row{"Conv",                    &build::conv},
    op_row{"ConvInteger",             &build::conv_integer},
    op_row{"CumSum",                  &build::cumulative_sum},
    op_row{"DepthToSpace",            &build::depth_to_space},
    op_row{"DequantizeLinear",        &build::dequantize_linear},
    op_row{"Dropout",                 &build::dropout},
    op_row{"DynamicQuantizeLinear",   &build::dynamic_quantize_linear},
    op_row{"Einsum",                  &build::sum_products},
    op_row{"Expand",                  &build::expand},
    op_row{"Flatten",                 &build::flatten},
    op_row{"Gather",                  &build::gather},
    op_row{"GatherElements",          &build::gather_elements},
    op_row{"GatherND",                &build::gather_tuples},
    op_row{"Gelu",                    &build::gelu},
    op_row{"Gemm",                    &build::gemm},
    op_row{"GlobalAveragePool",       &build::global_average_pool},
    op_row{"GlobalMaxPool",           &build::global_max_pool},
    op_row{"GroupNormalization",      &build::group_normalization},
    op_row{"If",                      &build::branch},
    op_row{"Identity",                &build::identity},
    op_row{"InstanceNormalization",   &build::instance_normalization},
    op_row{"IsInf",                   &build::is_inf},
    op_row{"LayerNormalization",      &build::layer_normalization},
    op_row{"LogSoftmax",              &build::log_softmax_axis},
    op_row{"Loop",                    &build::loop},
    op_row{"MatMul",                  &build::matmul},
    op_row{"MatMulInteger",           &build::matmul_integer},
    op_row{"Max",                     &build::max},
    op_row{"MaxPool",                 &build::max_pool},
    op_row{"Mean",                    &build::mean},
    op_row{"Min",                     &build::min},
    op_row{"Mod",                     &build::mod},
    op_row{"Pad",                     &build::pad},
    op_row{"Pow",                     &build::pow},
    op_row{"QLinearConv",             &build::q_linear_conv},
    op_row{"QLinearMatMul",           &build::q_linear_matmul},
    op_row{"QuantizeLinear",          &build::quantize_linear},
    op_row{"RMSNormalization",        &build::rms_normalization},
    op_row{"Range",                   &build::range},
    op_row{"ReduceL1",                &build::reduce_by<reduction::sum, build::around::abs_before>},
    op_row{"ReduceL2",                &build::reduce_by<reduction::sum, build::around::square_root>},
    op_row{"ReduceLogSum",            &build::reduce_by<reduction::sum, build::around::logarithm>},
    op_row{"ReduceLogSumExp",         &build::reduce_by<reduction::logsumexp>},
    op_row{"ReduceMax",               &build::reduce_by<reduction::max>},
    op_row{"ReduceMean",              &build::reduce_by<reduction::mean>},
    op_row{"ReduceMin",               &build::reduce_by<reduction::min>},
    op_row{"ReduceProd",              &build::reduce_by<reduction::prod>},
    op_row{"ReduceSum",               &build::reduce_by<reduction::sum, build::around::none, 13>},
    op_row{"ReduceSumSquare",         &build::reduce_by<reduction::sum, build::around::square_before>},
    op_row{"Reshape",                 &build::reshape_to},
    op_row{"Scan",                    &build::scan},
    op_row{"ScatterElements",         &build::scatter_along},
    op_row{"ScatterND",               &build::scatter_tuples},
    op_row{"Shape",                   &build::shape_of},
    op_row{"Size",                    &build::size_of},
    op_row{"Slice",                   &build::slice_axes},
    op_row{"Softmax",                 &build::softmax_axis},
    op_row{"SpaceToDepth",            &build::space_to_depth},
    op_row{"Split",                   &build::split},
    op_row{"Squeeze",                 &build::squeeze_axes},
    op_row{"Sum",                     &build::sum},
    op_row{"Swish",                   &build::swish},
    op_row{"Tile",                    &build::tile},
    op_row{"TopK",                    &build::top},
    op_row{"Transpose",               &build::transpose},
    op_row{"Unsqueeze",               &build::unsqueeze_axes},
};
// clang-format on

namespace detail {

/// Text up to the next blank; `rest` loses it.
constexpr std::string_view next_word(std::string_view& rest) {
    const std::size_t begin = std::min(rest.find_first_not_of(' '), rest.size());
    const std::size_t end = std::min(rest.find(' ', begin), rest.size());
    const std::string_view word = rest.substr(begin, end - begin);
    rest.remove_prefix(end);
    return word;
}

inline double number_of(std::string_view digits) {
#ifdef __cpp_lib_to_chars  // libc++ 19 has no from_chars of floating point
    double value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return value;
#else
    return std::strtod(std::string(digits).c_str(), nullptr);
#endif
}

}  // namespace detail

/// An op's ONNX spelling taken apart: "LeakyRelu alpha=0.01".
struct spelled_op {
    std::string_view name;
    std::vector<std::pair<std::string_view, double>> attributes;

    explicit spelled_op(const op_info& op) {
        std::string_view rest = op.onnx;
        name = detail::next_word(rest);
        for (auto word = detail::next_word(rest); !word.empty(); word = detail::next_word(rest)) {
            const std::size_t equals = std::min(word.find('='), word.size() - 1);
            const std::string_view digits = word.substr(equals + 1);
            attributes.emplace_back(word.substr(0, equals), detail::number_of(digits));
        }
    }
};

/// The elementwise operators: name in ONNX to op.
inline const std::map<std::string_view, const op_info*>& elementwise_ops() {
    static const auto table = [] {
        std::map<std::string_view, const op_info*> found;
        for (const op_info* op : infos_of(all_ops{}))
            if (!op->onnx.empty()) found.emplace(spelled_op(*op).name, op);
        return found;
    }();
    return table;
}

/// Every operator that is known, sorted: for docs, tests and messages.
inline std::vector<std::string_view> operator_names() {
    std::vector<std::string_view> names;
    for (const op_row& row : op_table) names.push_back(row.name);
    for (const auto& [name, op] : elementwise_ops()) names.push_back(name);
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

namespace detail {

inline constexpr op_row elementwise_row{"", &build::elementwise};

/// An elementwise operator with the node's attributes, or their defaults, as trailing scalars.
inline void take_elementwise(resolved_node& s, const op_info& op, const model_proto& m) {
    const spelled_op spelling(op);
    s.op = &op;
    s.row = &elementwise_row;
    for (const auto& [name, otherwise] : spelling.attributes) {
        double value = otherwise;
        for (const attribute& a : s.from->attributes) {
            if (a.name != name) continue;
            if (a.type != attribute_type::integer && a.type != attribute_type::real)
                throw error(errc::bad_file, "onnx",
                            m.from.name + ": " + describe(*s.from, s.number) +
                                " has the attribute \"" + std::string(a.name.substr(0, 64)) +
                                "\", which is no number");
            value = a.type == attribute_type::integer ? static_cast<double>(a.integer)
                                                      : static_cast<double>(a.real);
        }
        s.scalars.push_back(value);
    }
    for (const attribute& a : s.from->attributes)
        if (std::none_of(spelling.attributes.begin(), spelling.attributes.end(),
                         [&](const auto& k) { return k.first == a.name; }))
            throw error(errc::unsupported_op, "onnx",
                        m.from.name + ": " + describe(*s.from, s.number) + " has the attribute \"" +
                            std::string(a.name.substr(0, 64)) +
                            "\", which Pumice does not know for this operator");
}

[[noreturn]] inline void throw_unknown(const resolved_node& s, const model_proto& m) {
    const node_proto& n = *s.from;
    const std::string domain = n.domain.empty() ? "ai.onnx" : std::string(n.domain.substr(0, 64));
    std::vector<std::string> reasons;
    if (m.functions > 0)
        reasons.emplace_back(
            "the model brings functions of its own; inline them first "
            "(onnx.inliner.inline_local_functions)");
    for (const attribute& a : n.attributes)
        if (a.type == attribute_type::graph || a.type == attribute_type::graphs) {
            reasons.emplace_back("of operators with subgraphs there are If, Loop and Scan");
            break;
        }
    reasons.push_back(
        "an elementwise operator takes one line of your own: PUMICE_OP(my_op, 1, "
        "pumice::rules::floating, \"" +
        std::string(n.op_type.substr(0, 64)) +
        "\", x * 2), handed to the loader as pumice::ops<my_op>");
    reasons.emplace_back("any other is a row of model/onnx/ops.hpp and a builder over graph ops");
    throw error(errc::unsupported_op, "onnx",
                m.from.name + ": " + describe(n, s.number) + " asks for the operator " +
                    std::string(n.op_type.substr(0, 64)) + " of domain " + domain +
                    ", operator set " + std::to_string(s.opset) + ", which Pumice does not have",
                std::move(reasons));
}

}  // namespace detail

namespace detail {

constexpr char letter_of(attribute_type t) noexcept {
    constexpr std::string_view letters = "-fistgFISTGp-";  // as attribute_type
    return letters[static_cast<std::size_t>(t)];
}

/// Holds a node against what its operator set gives the operator.
inline void check_schema(const resolved_node& s, const model_proto& m) {
    const node_proto& n = *s.from;
    const auto refuse = [&](const std::string& why, errc code = errc::bad_file) {
        throw error(code, "onnx", m.from.name + ": " + describe(n, s.number) + " " + why);
    };
    const std::string set = "operator set " + std::to_string(s.opset);
    const op_schema* schema = schema_of(n.op_type, s.opset);
    if (!schema)
        refuse("is newer than the model's " + set + ": it came with operator set " +
               std::to_string(schema_of(n.op_type, 0)->since));
    if (schema->least == op_schema::withdrawn)
        refuse("was withdrawn from " + set, errc::unsupported);
    const auto given = static_cast<std::int64_t>(n.inputs.size());
    const int least = schema->least, most = schema->most;
    if (given < least || given > most)
        refuse("has " + std::to_string(given) + " inputs, takes " + std::to_string(least) +
               (most == least     ? ""
                : most == 1 << 20 ? " or more"
                                  : " to " + std::to_string(most)) +
               " in " + set);
    if (n.outputs.empty() || std::cmp_greater(n.outputs.size(), schema->outputs))
        refuse("has " + std::to_string(n.outputs.size()) + " outputs, gives 1 to " +
               std::to_string(schema->outputs) + " in " + set);
    std::size_t known = 0;
    std::string_view rest = schema->attributes;
    for (auto word = next_word(rest); !word.empty(); word = next_word(rest)) {
        const std::size_t colon = word.find(':');
        const std::string_view name = word.substr(0, colon);
        const auto at = std::find_if(n.attributes.begin(), n.attributes.end(),
                                     [&](const attribute& a) { return a.name == name; });
        if (at == n.attributes.end()) {
            if (word.ends_with('!')) refuse("lacks the attribute \"" + std::string(name) + "\"");
            continue;
        }
        ++known;
        if (letter_of(at->type) != word[colon + 1])
            refuse("has the attribute \"" + std::string(name) +
                   "\", which is of another type than ONNX gives it");
    }
    if (known == n.attributes.size()) return;
    for (const attribute& a : n.attributes) {
        const std::string_view list = schema->attributes;
        std::size_t at = list.find(a.name);
        while (at != list.npos &&
               ((at > 0 && list[at - 1] != ' ') || at + a.name.size() >= list.size() ||
                list[at + a.name.size()] != ':'))
            at = list.find(a.name, at + 1);
        if (at == list.npos)
            refuse("has the attribute \"" + std::string(a.name.substr(0, 64)) + "\", which " + set +
                       " does not give it",
                   errc::unsupported_op);
    }
}

}  // namespace detail

/// Finds the operator of a step: the user's ops, then the rows, then the op table. Throws
/// errc::unsupported_op naming operator, domain, node and operator set; errc::bad_file for what the
/// operator set does not give the operator.
inline void find_operator(resolved_node& s, const model_proto& m, const op_set& extra) {
    const node_proto& n = *s.from;
    if (n.domain == shader_domain) return detail::take_shader(s, m);
    for (const op_info* op : extra.list)
        if (n.op_type == op->name || n.op_type == spelled_op(*op).name)
            detail::take_elementwise(s, *op, m);
    if (s.op) {
        const std::size_t fixed = static_cast<std::size_t>(s.op->arity) - s.scalars.size();
        if (n.inputs.size() != fixed)
            throw error(errc::bad_file, "onnx",
                        m.from.name + ": " + describe(n, s.number) + " has " +
                            std::to_string(n.inputs.size()) + " inputs, takes " +
                            std::to_string(fixed));
        return;
    }
    if (n.domain.empty() || n.domain == "ai.onnx") {
        const auto row = std::find_if(op_table.begin(), op_table.end(),
                                      [&](const op_row& r) { return r.name == n.op_type; });
        const auto op = elementwise_ops().find(n.op_type);
        if (row != op_table.end()) s.row = &*row;
        else if (op != elementwise_ops().end()) detail::take_elementwise(s, *op->second, m);
    }
    if (!s.row) detail::throw_unknown(s, m);
    detail::check_schema(s, m);
}

}}}  // namespace pumice::PUMICE_ABI::onnx
