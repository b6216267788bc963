// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What the builder of a TOSA operator sees: its operands as graph nodes, and those that are known.
#pragma once

#include <pumice/expr/ops.hpp>
#include <pumice/graph/build.hpp>
#include <pumice/graph/manipulation.hpp>
#include <pumice/model/detail/weights.hpp>
#include <pumice/model/vgf/detail/tosa_graph.hpp>

#include <cmath>
#include <limits>

namespace pumice { inline namespace PUMICE_ABI { namespace vgf {

/// A graph's constants as tensors, and their places among the model's.
struct known_constant {
    graph_constant what;
    int slot = 0;
    any_tensor tensor;  // on the host, or in the file
};

class tosa_node {
public:
    using values_by_id = std::map<std::uint32_t, any_tensor>;
    using constants_by_id = std::map<std::uint32_t, known_constant>;

    tosa_node(const tosa_instruction& step, int number, const values_by_id& values,
              const constants_by_id& known, weights& constants)
        : step_(step), number_(number), values_(values), known_(known), constants_(constants) {}

    std::size_t inputs() const noexcept { return step_.operands.size(); }
    dtype type() const noexcept { return step_.type; }
    const pumice::shape& extent() const noexcept { return step_.shape; }
    /// f32 is what the model computes in its place.
    dtype computed(dtype t) const {
        return constants_.compute() && t == dtype::f32 ? *constants_.compute() : t;
    }

    [[noreturn, gnu::cold]] void fail(errc code, std::initializer_list<piece> why) const {
        throw error(code, "vgf", cat(why));
    }
    void require(bool good, std::initializer_list<piece> why) const {
        if (!good) fail(errc::bad_file, why);
    }
    [[noreturn, gnu::cold]] void unsupported(std::initializer_list<piece> why) const {
        fail(errc::unsupported, why);
    }

    /// Operand i as a tensor on the device; constants are brought there once.
    any_tensor tensor(std::size_t i) const { return tensor_of(id(i)); }
    any_tensor tensor_of(std::uint32_t which) const {
        if (const auto found = values_.find(which); found != values_.end()) return found->second;
        const known_constant& c = known_.at(which);
        any_tensor t = constants_.get(weights::of_slot(c.slot), [&] { return c.tensor; });
        return c.what.splat ? broadcast_to(t, c.what.shape) : t;
    }
    bool is_known(std::size_t i) const { return known_.contains(id(i)); }
    /// An operand whose values are at hand; null for others.
    const graph_constant* known(std::size_t i) const {
        const auto found = known_.find(id(i));
        return found == known_.end() || found->second.what.external ? nullptr : &found->second.what;
    }

    /// f(operand i): computed once, and kept, where the operand is a constant. `key` is distinct
    /// within the operator.
    template <class F>
    any_tensor derived(int key, std::size_t i, F&& f) const {
        if (!is_known(i)) return f(tensor(i));
        const weights::key place = weights::of_step(number_, key);
        if (const auto there = constants_.find(place)) return *there;
        const any_tensor made = copy(f(tensor(i)));
        return constants_.get(place, [&] { return made; });
    }
    /// A constant of the builder's own.
    any_tensor own(int key, const any_tensor& constant) const {
        return constants_.get(weights::of_step(number_, key), [&] { return constant; });
    }

    // operands that are known ---------------------------------------------------------------------
    std::vector<std::int64_t> integers(std::size_t i, std::size_t n) const {
        std::vector<std::int64_t> list = integers(i);
        require(list.size() == n, {"its operand ", i, " has ", list.size(), " numbers, needs ", n});
        return list;
    }
    std::vector<std::int64_t> integers(std::size_t i) const {
        const graph_constant& c = constant(i);
        const std::int64_t n = element_count(c.shape);
        require(!is_floating(c.type) && n <= 4096, {"its operand ", i, " is no list of integers"});
        std::vector<std::int64_t> list = values_of<std::int64_t>(c.type, c.bytes, c.splat ? 1 : n);
        if (c.splat) list.assign(static_cast<std::size_t>(n), list[0]);
        return list;
    }
    std::int64_t integer(std::size_t i) const { return integers(i, 1)[0]; }
    int small(std::int64_t value, const char* what) const {
        require(value >= 0 && value <= 32767, {"it has ", what, " of ", value});
        return static_cast<int>(value);
    }
    bool flag(std::size_t i) const {
        const graph_constant& c = constant(i);
        require(c.type == dtype::boolean && element_count(c.shape) == 1,
                {"its operand ", i, " is no truth value"});
        return c.bytes[0] != std::byte(0);
    }
    /// A number as an operand of elementwise work.
    any_operand number(std::size_t i) const {
        const graph_constant& c = constant(i);
        require(element_count(c.shape) == 1, {"its operand ", i, " is no number"});
        if (is_floating(c.type)) return values_of<double>(c.type, c.bytes, 1)[0];
        return values_of<std::int64_t>(c.type, c.bytes, 1)[0];
    }
    std::int64_t axis(std::size_t i, const any_tensor& of) const {
        const std::int64_t a = integer(i);
        require(a >= 0 && a < of.rank(), {"it names axis ", a, " of ", to_string(of.shape())});
        return a;
    }
    /// Whether NaN counts for nothing, where the operator says.
    bool ignores_nan(std::size_t i) const {
        const std::int64_t mode = integer(i);
        require(mode == 1 || mode == 2, {"its nan_mode is ", mode});
        return mode == 2;
    }

private:
    std::uint32_t id(std::size_t i) const {
        require(i < inputs(), {"it has ", inputs(), " operands, needs one more"});
        return step_.operands[i];
    }
    const graph_constant& constant(std::size_t i) const {
        const auto found = known_.find(id(i));
        if (found == known_.end() || found->second.what.external)
            unsupported({"its operand ", i, " is not known when the graph is built"});
        return found->second.what;
    }

    const tosa_instruction& step_;
    int number_;
    const values_by_id& values_;
    const constants_by_id& known_;
    weights& constants_;
};

}}}  // namespace pumice::PUMICE_ABI::vgf
