// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What a problem knows of its kind. Which problems the host has loops for, and that the others go
// to the reference. What the loops compute is compared in tests/device, with every kernel.
#include <pumice/exec/problem_kind.hpp>
#include <pumice/exec/select.hpp>

#include <tests/expr/support.hpp>

#include <doctest/doctest.h>

using namespace pumice;
using pumice_test::builder;

namespace {

std::shared_ptr<program> held(const builder& b) {
    const program_view v = b.view();
    return std::make_shared<program>(program{{v.code.begin(), v.code.end()},
                                             {v.outputs.begin(), v.outputs.end()}});
}

/// Reduces three numbers.
double reduced(reduction what, dtype type, dtype result) {
    builder in, out;
    in.out({in.leaf(0, type)});
    out.out({out.given(0, result)});
    reduce_problem p;
    p.what = what;
    p.inner = {3};
    p.result = result;
    p.prologue = {held(in), {{0, type, 0, {1}}}, {}, {}};
    p.epilogue = {held(out), {}, {}, {{1, result, 0, {}}}};
    std::byte data[24] = {}, to[8] = {};
    double found = 0;
    visit(type, [&]<class T>(T) {
        const T v[] = {convert<T>(5), convert<T>(7), convert<T>(6)};
        std::memcpy(data, v, sizeof v);
    });
    thread_pool threads(2);
    run_on_host(p, {{data, to}}, threads);
    visit(result, [&]<class T>(T) {
        T r;
        std::memcpy(&r, to, sizeof r);
        found = convert<double>(r);
    });
    return found;
}

}  // namespace

TEST_CASE("host kernels: with a loop of their own or by the reference, problems are solved") {
    for (const dtype type : {dtype::f32, dtype::f16, dtype::f64, dtype::i32, dtype::u8}) {
        CHECK(reduced(reduction::sum, type, type) == 18);
        CHECK(reduced(reduction::mean, type, type) == 6);
        CHECK(reduced(reduction::max, type, type) == 7);
        CHECK(reduced(reduction::prod, type, type) == 210);
        CHECK(reduced(reduction::argmax, type, dtype::i64) == 1);
    }
}

TEST_CASE("a problem knows its struct and the kernels that solve it") {
    const problem p(std::make_shared<reduce_problem>());
    CHECK(p.is<reduce_problem>());
    CHECK(p.get_if<elementwise_problem>() == nullptr);
    CHECK(p.get_if<reduce_problem>() == p.get());
    CHECK(&p.kind() == &kind_of<reduce_problem>());
    CHECK(p.kind().kernels.back().name == reduce_slices::name);
    CHECK(p.kind().before(p.get()).size() == 1);
    CHECK(p.kind().after(p.get()) == &p.get_if<reduce_problem>()->epilogue);
    CHECK(kind_of<sort_problem>().after(p.get()) == nullptr);
}
