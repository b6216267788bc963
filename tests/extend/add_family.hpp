// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// How to add a family of ops: the op, the problem that it asks, what solves that, and its way from
// the one to the other. This one is the squared distances between the rows of two matrices, with
// whatever is elementwise before and behind it in the same kernel.
#pragma once

#include <pumice/exec/plan/lower.hpp>
#include <pumice/graph/op_functions.hpp>

namespace mine {

namespace pm = pumice;

/// Inputs: a (m, k), b (n, k). Result: (m, n).
struct distance_op {
    static constexpr std::string_view name = "mine/distance";
    static constexpr pm::fusion_traits fusion{
        .prologue = true, .epilogue = true, .repeats_prologue = true};
};

inline pm::kernel_value result_of(distance_op, std::span<const pm::kernel_value> in) {
    if (in.size() != 2 || in[0].shape.rank() != 2 || in[1].shape.rank() != 2 ||
        in[0].shape[1] != in[1].shape[1] || in[0].dtype != in[1].dtype)
        pm::fail(pm::errc::shape_mismatch, "distance",
                 {"wants two matrices of one type with rows of one length"});
    return {in[0].dtype, {in[0].shape[0], in[1].shape[0]}};
}
inline pm::any_tensor distance(const pm::any_tensor& a, const pm::any_tensor& b) {
    return pm::apply(distance_op(), {a, b});
}

/// epilogue({m, n}, sum over k of (a({m, k}) - b({n, k}))^2).
struct distance_problem {
    static constexpr std::string_view name = "mine/distance";
    std::int64_t m = 0, n = 0, k = 0;
    pm::fused a, b, epilogue;
};

inline void visit_operands(const distance_problem& p, const pm::operand_visitor& f) {
    f(p.a, {p.m, p.k});
    f(p.b, {p.n, p.k});
    f(p.epilogue, {p.m, p.n});
}

inline bool lower(const distance_op&, const pm::lowering& group, pm::plan_builder& out) {
    pm::buffer_list buffers{&out.scalars};
    const auto held = pm::lowering::fresh<distance_problem>();
    held->m = group.extent()[0];
    held->n = group.extent()[1];
    held->k = group.input(0)->extent()[1];
    const pm::affine same = pm::affine::identity(2);
    return group.prologue(buffers, group.input(0), same, held->a) &&
           group.prologue(buffers, group.input(1), same, held->b) &&
           group.epilogue(buffers, same, held->epilogue) && group.add(out, held, buffers);
}

/// What every kernel for it computes, in double.
inline void reference(const distance_problem& p, const pm::host_buffers& buffers) {
    pm::host_rows a(p.a, buffers), b(p.b, buffers), epilogue(p.epilogue, buffers);
    const auto bytes = [](std::vector<double>& v) {
        return reinterpret_cast<std::byte*>(v.data());
    };
    std::vector<double> x(static_cast<std::size_t>(p.k)), y(x), row(static_cast<std::size_t>(p.n));
    for (std::int64_t i = 0; i < p.m; ++i) {
        a.read({i, 0}, pm::dtype::f64, bytes(x), p.k);
        for (std::int64_t j = 0; j < p.n; ++j) {
            b.read({j, 0}, pm::dtype::f64, bytes(y), p.k);
            double& sum = row[static_cast<std::size_t>(j)] = 0;
            for (std::size_t c = 0; c < x.size(); ++c) sum += (x[c] - y[c]) * (x[c] - y[c]);
        }
        epilogue.write({i, 0}, pm::dtype::f64, bytes(row), p.n);
    }
}

/// An element of the result per invocation, of types that are computed in float.
struct distance_rows {
    using problem_type = distance_problem;
    static constexpr std::string_view name = "mine/distance";
    static constexpr bool portable = true;
    static constexpr const char* text = R"(
[shader("compute")] [numthreads(256, 1, 1)]
public void rows<A : IProgram, B : IProgram, E : IProgram>(
    uint3 group : SV_GroupID, uint thread : SV_GroupIndex, uniform Params<A, B, E>* p)
    where A.Value == float where B.Value == float where E.Given == float
{
    let q = *p;
    int number = (int(group.y) * q.width + int(group.x)) * 256 + int(thread);
    if (number >= q.count) return;
    int at[2] = {number / q.n, number % q.n};
    float sum = 0;
    for (int c = 0; c < q.k; ++c)
    {
        int inA[2] = {at[0], c};
        int inB[2] = {at[1], c};
        int x[A.operands];
        int y[B.operands];
        q.readsA.at(inA, x);
        q.readsB.at(inB, y);
        A.Given nothing;
        B.Given none;
        float d = A.first(A.eval(q.a, A.load<int>(q.a, x), nothing)) -
                  B.first(B.eval(q.b, B.load<int>(q.b, y), none));
        sum += d * d;
    }
    int o[E.operands];
    q.writes.at(at, o);
    E.store<int>(q.result, o, E.eval(q.result, E.load<int>(q.result, o), sum));
}
)";

    static pm::support supports(const problem_type& p, const pm::device_info& device) {
        for (const pm::fused* f : {&p.a, &p.b, &p.epilogue})
            if (pm::support s = pm::supports_types(*f, device); !s.yes) return s;
        for (const pm::fused* f : {&p.a, &p.b})
            if (!pm::is_floating(f->type()) || f->type() == pm::dtype::f64)
                return pm::support::no({to_string(f->type()), " is not computed in float"});
        bool wide = false;
        visit_operands(p, [&](const pm::operand& o, const pm::shape& domain, bool) {
            wide = wide || pm::needs_wide_index({o}, domain);
        });
        if (wide) return pm::support::no("an operand passes 2^31 elements");
        const double each = pm::bytes_of(p.a, {p.m, p.k}) + pm::bytes_of(p.b, {p.n, p.k});
        return pm::support::in(pm::seconds_to_move(device,
                                                   each + pm::bytes_of(p.epilogue, {p.m, p.n}), 0.1,
                                                   static_cast<double>(p.m * p.n)));
    }
    static pm::launch make(const problem_type& p, const pm::device_info& device) {
        pm::launch l("distance", "rows",
                     {pm::emitted_name(p.a.body->view()), pm::emitted_name(p.b.body->view()),
                      pm::emitted_name(p.epilogue.body->view())},
                     {&p.a, &p.b, &p.epilogue});
        const std::int64_t count = p.m * p.n;
        const std::uint32_t width = pm::spread(l, (count + 255) / 256, device);
        std::string members;
        pm::write_block(l, false, "Params",
                        {{"A.Args a", pm::block::arguments{p.a, {p.m, p.k}}},
                         {"B.Args b", pm::block::arguments{p.b, {p.n, p.k}}},
                         {"E.Args result", pm::block::arguments{p.epilogue, {p.m, p.n}}},
                         {"Places<A, int, 2> readsA", pm::block::places{p.a, 2}},
                         {"Places<B, int, 2> readsB", pm::block::places{p.b, 2}},
                         {"Places<E, int, 2> writes", pm::block::places{p.epilogue, 2}},
                         {"int n", p.n},
                         {"int k", p.k},
                         {"int count", count},
                         {"int width", width}},
                        &members);
        static const auto shared = std::make_shared<const std::string>(
            pm::cat({"module distance;\nimport element;\nimport program;\n"
                     "public struct Params<A : IProgram, B : IProgram, E : IProgram>\n{\n",
                     members, "}\n", text}));
        l.text = shared;
        return l;
    }
};

}  // namespace mine

template <>
inline constexpr pumice::kernel_entries pumice::kernels_for<mine::distance_problem> =
    pumice::kernel_list<mine::distance_rows>;
