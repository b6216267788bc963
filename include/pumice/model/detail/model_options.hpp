// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What a model is loaded with.
#pragma once

#include <pumice/base/span.hpp>
#include <pumice/expr/ops.hpp>
#include <pumice/model/detail/model_limits.hpp>
#include <pumice/model/provider.hpp>
#include <pumice/tensor/context.hpp>

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <utility>

namespace pumice { inline namespace PUMICE_ABI {

/// Elementwise ops of a user's own for the model loader: `model::load(path, pm::ops<my_op, ...>)`.
struct op_set {
    span<const op_info* const> list;
};

namespace detail {
template <class Op>
constexpr const op_info* info_of(op_function<Op>) noexcept {
    return &op_info_of<Op>;
}
template <auto... Functions>
inline constexpr std::array<const op_info*, sizeof...(Functions)> infos{info_of(Functions)...};
}  // namespace detail

template <auto... Functions>
inline constexpr op_set ops{detail::infos<Functions...>};

/// Who runs a graph segment of a VGF file: a device's data graph (VK_ARM_data_graph), or kernels of
/// Pumice's. `best`: the data graph where the device has it and it takes the segment, unless the
/// options name operators, providers or a type to compute in. `native`: it alone, or loading throws
/// errc::unsupported. `translated`: kernels alone.
enum class graph_segments : std::uint8_t { best, native, translated };

/// How a model is loaded. Every field may be left out; contexts and op sets may be given beside it.
struct load_options {
    std::int64_t batch = 0;  // the open first axis of inputs; 0 leaves it open
    std::map<std::string, std::int64_t, std::less<>> dims = {};  // other open axes, by their symbol
    std::optional<dtype> compute = {};        // f16 or bf16 in place of f32: faster, less exact
    std::optional<context> where = {};        // the process-wide context where there is none
    op_set extra = {};                        // a user's own elementwise operators
    std::vector<op_provider> providers = {};  // asked in order before the library's own way
    model_limits limits = {};
    graph_segments segments = graph_segments::best;  // of VGF files
};

namespace detail {
inline void take_option(load_options& chosen, const load_options& o) {
    const load_options before = std::exchange(chosen, o);
    if (!chosen.where) chosen.where = before.where;
    if (chosen.extra.list.empty()) chosen.extra = before.extra;
    if (chosen.providers.empty()) chosen.providers = before.providers;
    if (chosen.segments == graph_segments::best) chosen.segments = before.segments;
}
inline void take_option(load_options& chosen, const context& c) { chosen.where = c; }
inline void take_option(load_options& chosen, const op_set& s) { chosen.extra = s; }
inline void take_option(load_options& chosen, graph_segments s) { chosen.segments = s; }
inline void take_option(load_options& chosen, const op_provider& p) {
    chosen.providers.push_back(p);
}
}  // namespace detail

/// What `model::load` takes after the path, in any order: load_options, a context, pm::ops<...>,
/// op_providers, graph_segments.
template <class O>
concept load_option =
    requires(load_options& chosen, const O& o) { detail::take_option(chosen, o); };

}}  // namespace pumice::PUMICE_ABI
