// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Kernels of the user's own as the front sees them: what is refused, what a call infers, the host
// function.
#include "counting.hpp"

#include <pumice/graph/print.hpp>
#include <pumice/tensor/kernel.hpp>

#include <tests/support/thrown.hpp>

#include <doctest/doctest.h>

namespace pm = pumice;
using pm::any_tensor;
using pm::dtype;
using pm::errc;
using pm::kernel_options;
using pm::shape;
using pumice_test::counting, pumice_test::reals;

namespace {

constexpr const char* copies =
    "void f(uint3 thread, Input<F32> x, Output<F32> y) { y[thread.x] = x[thread.x]; }";

/// Throws `code`, and the text names the kernel and has the words.
template <class F>
void fails(errc code, std::string_view words, F&& f) {
    const pm::error e = test::thrown_by(f);
    CHECK_MESSAGE(e.code() == code, e.what());
    CHECK_MESSAGE(e.where() == "kernel f", e.what());
    CHECK_MESSAGE(std::string_view(e.what()).find(words) != std::string_view::npos, e.what());
}
pm::kernel made(kernel_options how) { return {"f", copies, std::move(how)}; }
any_tensor some(const shape& s, dtype t = dtype::f32) { return pm::zeros(t, s, pumice_test::home); }

/// y = s x, also on the host.
pm::kernel scaled(bool fused = false) {
    return made({.inputs = {{.type = dtype::f32, .fused = fused}},
                 .outputs = {{.fused = fused}},
                 .scalars = {dtype::f32},
                 .host = [](const pm::kernel_arguments& a) {
                     const auto x = a.inputs[0].as<float>(), y = a.outputs[0].as<float>();
                     for (std::size_t i = 0; i < x.size(); ++i)
                         y[i] = a.scalars[0].as<float>() * x[i];
                 }});
}

}  // namespace

TEST_CASE("kernel: a description that contradicts itself is refused at once") {
    const auto named = [](const char* name, const char* slang) {
        return [=] { pm::kernel(name, slang, {.inputs = {{}}}); };
    };
    for (const char* name : {"", "2f", "a b", "a-b", "groupX", "pumice_run"})
        CHECK_THROWS_AS(named(name, copies)(), pm::error);
    fails(errc::invalid_argument, "no function `f(", named("f", ""));
    fails(errc::invalid_argument, "no function `f(", named("f", "void g() { f = fg(1); of(2); }"));
    CHECK_NOTHROW(named("f", "void f <X>()")());
    fails(errc::invalid_argument, "gives nothing", [] { made({.inputs = {{}}, .outputs = {}}); });
    fails(errc::invalid_argument, "like input 1",
          [] { made({.inputs = {{}}, .outputs = {{.like = 1}}}); });
    fails(errc::invalid_argument, "like input 0", [] { made({}); });
    fails(errc::invalid_argument, "say one of the two",
          [] { made({.inputs = {{.fused = true, .strided = true}}}); });
    fails(errc::invalid_argument, "a kernel of one output",
          [] { made({.inputs = {{}}, .outputs = {{}, {.fused = true}}}); });
    fails(errc::invalid_argument, "`1T` is no identifier",
          [] { made({.inputs = {{.type = "1T"}}}); });
    fails(errc::invalid_argument, "no input says what `T` is",
          [] { made({.inputs = {{}}, .outputs = {{.type = "T"}}}); });
    fails(errc::invalid_argument, "one to three axes",
          [] { made({.inputs = {{}}, .group = {1, 1, 1, 1}}); });
    fails(errc::invalid_argument, "has no threads",
          [] { made({.inputs = {{}}, .group = {4, 0}}); });
}

TEST_CASE("kernel: a call with operands that the description does not take") {
    const pm::kernel two =
        made({.inputs = {{.type = "T", .rank = 1}, {.type = "T"}}, .scalars = {dtype::i32}});
    const any_tensor x = some({3});
    fails(errc::invalid_argument, "takes 2 inputs, got 1", [&] { two(x, 1); });
    fails(errc::invalid_argument, "takes 1 scalars, got 0", [&] { two(x, x); });
    fails(errc::dtype_mismatch, "input 1 is i32, not f32",
          [&] { two(x, some({3}, dtype::i32), 1); });
    fails(errc::rank_mismatch, "(3, 1), not rank 1", [&] { two(some({3, 1}), x, 1); });
    fails(errc::dtype_mismatch, "scalar 0 is i32", [&] { two(x, x, 1.5); });
    fails(errc::invalid_argument, "gives 1 outputs, not 2", [&] { two.outputs<2>(x, x, 1); });
    fails(errc::dtype_mismatch, "input 0 is f32, not f16",
          [&] { made({.inputs = {{.type = dtype::f16}}})(x); });
    const pm::context other(pumice_test::host());
    CHECK(test::code_of([&] { two(x, pm::zeros(dtype::f32, {3}, other), 1); }) ==
          errc::context_mismatch);
}

TEST_CASE("kernel: results and grids that cannot be") {
    const any_tensor x = some({3});
    const auto giving = [&](dtype t, const shape& s) {
        return [=] {
            made({.inputs = {{}},
                  .results = [=](auto) { return std::vector<pm::kernel_value>{{t, s}}; }})(x);
        };
    };
    constexpr std::int64_t big = std::int64_t{1} << 31;
    fails(errc::invalid_argument, "has a negative extent", giving(dtype::f32, {2, -1}));
    fails(errc::size_overflow, "passes the 2^31 elements", giving(dtype::u8, {big}));
    CHECK_THROWS_AS(giving(dtype::u8, {big, big, big})(), pm::error);
    fails(errc::invalid_argument, "`results` gives 0 outputs", [&] {
        made({.inputs = {{}}, .results = [](auto) { return std::vector<pm::kernel_value>(); }})(x);
    });
    fails(errc::dtype_mismatch, "makes output 0 f16, not f32", [&] {
        made({.inputs = {{.type = "T"}}, .outputs = {{.type = "T"}}, .results = [](auto in) {
                  return std::vector<pm::kernel_value>{{dtype::f16, in[0].shape}};
              }})(x);
    });
    const auto grid = [&](const shape& s) {
        return [=] { made({.inputs = {{}}, .grid = [=](auto, auto) { return s; }})(x); };
    };
    fails(errc::invalid_argument, "has not one to three axes", grid({}));
    fails(errc::invalid_argument, "has not one to three axes", grid({1, 1, 1, 1}));
    fails(errc::invalid_argument, "outside [0, 2^31) along axis 1", grid({1, -1}));
    fails(errc::size_overflow, "outside [0, 2^31) along axis 0", grid({big}));
    fails(errc::invalid_argument, "no thread to write", grid({5, 0}));
}

TEST_CASE("kernel: types, shapes and threads are inferred; nothing runs") {
    const pm::kernel k =
        made({.inputs = {{.type = "T"}, {}},
              .outputs = {{}, {.type = "T", .like = 1}, {.type = dtype::i64, .shape = shape{4}}}});
    const auto [a, b, c] = k.outputs<3>(some({2, 3}, dtype::f16), some({5}, dtype::i32));
    CHECK(a.dtype() == dtype::f16);
    CHECK(a.shape() == shape{2, 3});
    CHECK(b.dtype() == dtype::f16);
    CHECK(b.shape() == shape{5});
    CHECK(c.dtype() == dtype::i64);
    CHECK(c.shape() == shape{4});
    CHECK(!a.get()->realised());
    CHECK(pm::to_dot(a).find("label=\"f\"") != std::string::npos);
    const auto* op = a.get()->op.get_if<pm::kernel_op>();
    REQUIRE(op);
    CHECK(op->call->threads == std::array<std::int64_t, 3>{6, 1, 1});
    CHECK(op->call == c.get()->op.get_if<pm::kernel_op>()->call);
    CHECK(op->call->names.size() == 1);
}

TEST_CASE("kernel: on the host its host function runs, else it says what it needs") {
    const auto x = counting<2, 3>();
    pm::matrix<float> y = scaled()(x + 1.0f, 2).as<pm::matrix<float>>();
    CHECK(y.to_vector() == reals{2, 4, 6, 8, 10, 12});
    CHECK(pm::explain(y).starts_with("host/f (2, 3)\n"));
    CHECK(pm::to_vector<float>(scaled()(pm::transpose(x), -1.0f)) == reals{0, -3, -1, -4, -2, -5});
    CHECK(pm::to_vector<float>(scaled()(some({0}), 1)).empty());
    const any_tensor none = made({.inputs = {{}}})(x);
    fails(errc::unsupported, "needs a Vulkan device", [&] { pm::eval(none); });
    CHECK(!none.get()->realised());
    fails(errc::dtype_mismatch, "f32, asked for i32", [&] {
        pm::eval(made({.inputs = {{}}, .host = [](const pm::kernel_arguments& a) {
                           try {
                               a.inputs[0].as<std::int32_t>();
                           } catch (const pm::error& e) {
                               throw pm::error(e.code(), "kernel f", e.message());
                           }
                       }})(x));
    });
}

TEST_CASE("kernel: the host function with neighbours fused, of several outputs") {
    const auto x = counting<2, 3>();
    pm::eval(x);
    const std::uint64_t before = pumice_test::home.stats().dispatches;
    const any_tensor y = scaled(true)(pm::transpose(x) + 1.0f, 3) - 1.0;
    CHECK(pm::to_vector<float>(y) == reals{2, 11, 5, 14, 8, 17});
    CHECK(pumice_test::home.stats().dispatches == before + 1);
    CHECK(pm::explain(y) == "host/f (3, 2): add | subtract\n");

    const pm::kernel both = made({.inputs = {{}},
                                  .outputs = {{}, {.type = dtype::i32}},
                                  .host = [](const pm::kernel_arguments& a) {
                                      for (std::size_t i = 0; i < 6; ++i) {
                                          a.outputs[0].as<float>()[i] = -a.inputs[0].as<float>()[i];
                                          a.outputs[1].as<std::int32_t>()[i] =
                                              int(i) + int(a.threads[0]);
                                      }
                                  }});
    CHECK(pm::to_vector<std::int32_t>(both.outputs<2>(x)[1]).back() == 11);
    const auto [p, q] = both.outputs<2>(x);
    CHECK(pm::to_vector<float>(p).back() == -5);
    CHECK(q.get()->realised());
}
