// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Random graphs: every fusion is in a valid order, stores each node once, and computes on the host
// what no fusion computes.
#include <pumice/exec/plan/lower.hpp>
#include <pumice/graph/passes/fuse.hpp>

#include "../support/walked_graph.hpp"
#include "support.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <set>

using namespace pumice;
using namespace pumice_test;

namespace {

/// The same random graph in any engine: choices depend on the seed and on shapes alone.
class random_graph {
public:
    random_graph(std::shared_ptr<engine> home, std::uint32_t seed)
        : home_(std::move(home)), random_(seed) {
        for (int i = 0; i < 3; ++i) add(source({4, 4}));
        add(source({4}));
        add(source({4, 1}));
        add(source({2, 4, 4}));
        const int steps = 4 + pick(60);
        for (int i = 0; i < steps; ++i) step();
        const int wanted = 1 + pick(4);
        for (int i = 0; i < wanted; ++i) roots.push_back(any_of(6));
        roots.push_back(made_.back());
    }
    std::vector<any_tensor> roots;

private:
    int pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
    void add(any_tensor t) { made_.push_back(std::move(t)); }
    any_tensor any_of(std::size_t first = 0) {
        return made_[first +
                     static_cast<std::size_t>(pick(static_cast<int>(made_.size() - first)))];
    }
    /// Recent nodes more often: deep graphs.
    any_tensor recent() {
        return pick(2) == 0 ? any_of()
                            : made_[made_.size() - 1 -
                                    static_cast<std::size_t>(
                                        pick(std::min<int>(5, static_cast<int>(made_.size()))))];
    }
    any_tensor source(const shape& s) {
        std::vector<float> v(static_cast<std::size_t>(element_count(s)));
        for (float& x : v) x = static_cast<float>(pick(2001) - 1000) / 1000.0f;
        return data(home_, s, v);
    }
    static bool joins(const shape& a, const shape& b) {
        for (int i = 1; i <= std::min(a.rank(), b.rank()); ++i) {
            const std::int64_t x = a[a.rank() - i], y = b[b.rank() - i];
            if (x != y && x != 1 && y != 1) return false;
        }
        return true;
    }

    void step() {
        const any_tensor x = recent();
        const int rank = x.rank();
        switch (pick(14)) {
            case 0: return add(apply<op::tanh>(x));
            case 1: return add(apply<op::relu>(x));
            case 2: return add(apply<op::multiply>(x, 0.5));
            case 3: return add(apply<op::where>(apply<op::greater>(x, 0.25), x, 0.125));
            case 4:
            case 5:
            case 6: {
                const any_tensor y = recent();
                if (!joins(x.shape(), y.shape())) return;
                return add(pick(2) == 0 ? apply<op::add>(apply<op::multiply>(x, 0.5), y)
                                        : apply<op::maximum>(x, y));
            }
            case 7: {
                if (rank == 0 || x.size() == 0) return;
                const std::int64_t axis = pick(rank);
                return add(reduce(pick(2) == 0 ? reduction::mean : reduction::max, x,
                                  std::span(&axis, 1), pick(2) == 0));
            }
            case 8: {
                const any_tensor y = recent();
                if (rank < 2 || y.rank() < 2 || x.shape().back() != y.shape()[y.rank() - 2] ||
                    x.size() == 0)
                    return;
                shape a(std::span(x.shape().begin(), x.shape().size() - 2)),
                    b(std::span(y.shape().begin(), y.shape().size() - 2));
                if (!joins(a, b)) return;
                return add(apply<op::multiply>(matmul(x, y), 0.25));
            }
            case 9:
                if (rank > 0 && x.size() > 0) {
                    const std::int64_t axis = pick(rank);
                    add(pick(2) == 0
                            ? softmax(x, axis)
                            : normalize(normalization::layer_norm, x, std::span(&axis, 1), 0.5));
                }
                return;
            case 10: {
                std::vector<std::int64_t> order;
                for (int i = 0; i < rank; ++i) order.push_back(i);
                std::shuffle(order.begin(), order.end(), random_);
                return add(permute_dims(x, order));
            }
            case 11: {
                if (rank == 0) return;
                std::vector<slice> s;
                for (int i = 0; i < rank; ++i)
                    s.push_back(pick(2) == 0   ? slice{}
                                : pick(2) == 0 ? slice{{}, {}, -1}
                                               : slice{pick(2), {}, 1});
                return add(slice_view(x, s));
            }
            case 12: return add(reshape(x, {-1}));
            default: {
                if (x.rank() == 0 || x.size() == 0) return;
                const std::vector<any_tensor> parts{x, apply<op::abs>(x)};
                return add(concat(parts, pick(rank)));
            }
        }
    }

    std::shared_ptr<engine> home_;
    std::mt19937 random_;
    std::vector<any_tensor> made_;
};

/// What is wrong with the groups, or nothing.
std::string fault_of(const array_list<node_ptr>& roots, bool enabled) {
    walked_graph whole(roots);
    const array_list<kernel_group> groups = whole.groups(enabled);
    std::set<const graph_node*> stored, later;
    for (const kernel_group& g : groups)
        for (const graph_node* n : g.outputs)
            if (!later.insert(n).second) return "a node is stored twice";
    const auto base = [](const graph_node* n) {
        while (!n->is_given() && is_view(*n)) n = n->inputs[0];
        return n;
    };
    for (const kernel_group& g : groups) {
        const array_list<graph_node*> members = g.members();
        const std::set<const graph_node*> inside(members.begin(), members.end());
        if (g.outputs.empty()) return "a group stores nothing";
        if (g.outputs.size() > static_cast<std::size_t>(max_outputs))
            return "a group has too many outputs";
        for (const graph_node* n : g.outputs)
            if (n->extent() != g.outputs[0]->extent()) return "outputs of two extents";
        for (const graph_node* n : g.inlined)
            if (!n->op().is<elementwise_op>()) return "an inlined node is not elementwise";
        for (const graph_node* n : inside)
            for (const graph_node* input : n->inputs) {
                const graph_node* from = base(input);
                if (!from->is_given() && !inside.contains(from) && !stored.contains(from))
                    return "a group reads what no group before it stored";
            }
        for (const graph_node* n : g.outputs) stored.insert(n);
    }
    for (const graph_node* r : whole.graph.roots())
        if (!r->is_given() && !stored.contains(base(r)) && !base(r)->is_given())
            return "a root is not stored";
    return "";
}

int rounds() {
    const char* n = std::getenv("PUMICE_TEST_ROUNDS");
    return n ? std::atoi(n) : 1500;
}

}  // namespace

TEST_CASE("random graphs: groups are in order, and fused is unfused") {
    const std::shared_ptr<engine> fused = host(), plain = host(false);
    int kernels = 0, nodes = 0, wrong = 0;
    for (int seed = 1; seed <= rounds() && wrong < 3; ++seed) {
        random_graph a(fused, static_cast<std::uint32_t>(seed)),
            b(plain, static_cast<std::uint32_t>(seed));
        array_list<node_ptr> ra, rb;
        for (const any_tensor& t : a.roots) ra.push_back(t.get());
        for (const any_tensor& t : b.roots) rb.push_back(t.get());
        for (bool enabled : {true, false}) {
            const std::string fault = fault_of(ra, enabled);
            if (!fault.empty()) ++wrong;
            CHECK_MESSAGE(fault == "", "seed ", seed, enabled ? " fused" : " not fused");
        }
        kernels += static_cast<int>(walked_graph(ra).groups().size());
        nodes += static_cast<int>(walked_graph(ra).groups(false).size());
        fused->eval(ra);
        plain->eval(rb);
        for (std::size_t i = 0; i < a.roots.size(); ++i) {
            REQUIRE(a.roots[i].shape() == b.roots[i].shape());
            const std::vector<float> x = values(a.roots[i]), y = values(b.roots[i]);
            double worst = 0;
            for (std::size_t k = 0; k < x.size(); ++k)
                worst = std::max(worst, static_cast<double>(std::fabs(x[k] - y[k])));
            if (!(worst < 1e-4)) ++wrong;
            CHECK_MESSAGE(worst < 1e-4, "seed ", seed, " root ", i);
        }
    }
    CHECK(kernels < nodes);
    MESSAGE(rounds(), " graphs: ", nodes, " kernels without fusion, ", kernels, " with it");
}
