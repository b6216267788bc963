// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

#include <pumice/runner/runner.hpp>

#include <algorithm>
#include <array>

using namespace test;
using pm::io_view;
using pm::memory_kind;
using pm::run_status;

static_assert(noexcept(std::declval<const pm::runner&>().execute({}, {})) &&
              noexcept(std::declval<const pm::runner&>().execute_async({}, {})) &&
              noexcept(std::declval<const pm::job&>().wait()) &&
              noexcept(std::declval<const pm::job&>().cancel()));

TEST_CASE("runner: the five steps, in each of the four views, give the same values") {
    const pm::context home;
    std::vector<std::vector<float>> results;
    for (const auto& [layout, type] :
         {std::pair(pm::memory_layout(), std::optional<pm::dtype>()),
          std::pair(pm::memory_layout::hcwnc4(), std::optional(pm::dtype::bf16))})
        for (const io_view in : {io_view::host, io_view::hardware})
            for (const io_view out : {io_view::host, io_view::hardware}) {
                pm::runner_options o;
                o.input_view = in;
                o.output_view = out;
                o.hardware_layout = layout;
                o.hardware_dtype = type;
                const pm::runner r = shifting(home, {2, 3, 5, 7}, o);  // 1: create
                const pm::tensor_info& info = r.inputs()[0];           // 2: ask
                CHECK(info.name == "x");
                CHECK(&r.info("x") == &info);
                CHECK(&r.info("x", io_view::host) == &r.inputs(io_view::host)[0]);
                CHECK(r.inputs(io_view::host)[0].shape == pm::shape{2, 3, 5, 7});
                if (type && in == io_view::hardware) {
                    CHECK(info.shape == pm::shape{5, 1, 7, 2, 4});
                    CHECK(info.dtype == pm::dtype::bf16);
                    CHECK(info.bytes() == 5 * 7 * 2 * 4 * 2);
                }
                const pm::runner_tensor x = r.allocate(info);  // 3: allocate
                const pm::runner_tensor y = r.allocate("output0");
                const std::vector<float> values = counting(210, 2);
                const auto host = [&] {
                    return pm::from_bytes(pm::dtype::f32, {2, 3, 5, 7}, bytes_of(values), home);
                };
                const auto bytes_in = [&](const pm::any_tensor& t) {
                    std::vector<std::byte> b(static_cast<std::size_t>(t.size_bytes()));
                    pm::read(t, b);
                    return b;
                };
                x.write(bytes_in(pm::to_layout(pm::astype(host(), info.dtype), info.layout)));
                REQUIRE(r.execute({x}, {y}) == run_status::ok);  // 4: execute
                std::vector<std::byte> raw(static_cast<std::size_t>(y.size_bytes()));
                y.read(raw);  // 5: consume
                const pm::tensor_info& gives = r.outputs()[0];
                const pm::any_tensor back =
                    pm::astype(pm::from_layout(pm::from_bytes(gives.dtype, gives.shape, raw, home),
                                               gives.layout, {2, 3, 5, 7}),
                               pm::dtype::f32);
                CHECK(pm::to_vector<float>(back) == shifted(values));  // which bf16 holds
            }
    const auto r = shifting(home, {4});
    const pm::error e = thrown_by([&] { r.info("w"); });
    CHECK(e.code() == pm::errc::invalid_argument);
    CHECK(e.reasons() == std::vector<std::string>{"input \"x\"", "output \"output0\""});
}

TEST_CASE("runner: of an executable, of host memory, and with a layout that it was not made for") {
    const pm::context home;
    const auto f = pm::compile([](const pm::any_tensor& x) { return shift(std::span(&x, 1)); });
    const pm::executable e = f.get(pm::zeros(pm::dtype::f32, {3, 3}, home));
    const pm::runner r(e);
    std::vector<float> in = counting(9, 4), out(9);
    REQUIRE(r.execute({r.wrap("input0", in.data())}, {r.wrap("output0", out.data())}) ==
            run_status::ok);
    CHECK(out == shifted(in));
    pm::runner_options o;
    o.hardware_dtype = pm::dtype::f16;
    CHECK(code_of([&] { pm::runner(e, o); }) == pm::errc::unsupported);
    o = {};
    o.hardware_layout = pm::memory_layout::nhwc();
    CHECK(shifting(home, {3, 3}, o).inputs(io_view::hardware)[0].layout.is_host());  // rank 2
}

TEST_CASE("runner: what does not fit is told by a status and a message, and changes nothing") {
    const pm::context home, other;
    const pm::runner r = shifting(home, {2, 4});
    std::vector<float> in(8), out(8, 5);
    const auto x = r.wrap("x", in.data()), y = r.wrap("output0", out.data());
    const pm::tensor_info longer = input_of(pm::dtype::f32, {2, 5}),
                          whole = input_of(pm::dtype::i32, {2, 4});
    pm::tensor_info hard = r.info("x", io_view::hardware);
    std::vector<float> more(10);
    const auto says = [&](run_status s, run_status wanted, const char* text) {
        CHECK(s == wanted);
        CHECK(std::string(pm::run_message()).find(text) != std::string::npos);
    };
    says(r.execute({}, {y}), run_status::invalid_argument, "takes 1 inputs, not 0");
    says(r.execute({{}}, {y}), run_status::invalid_argument, "\"x\" is empty");
    says(r.execute({{home, longer, more.data()}}, {y}), run_status::shape_mismatch, "(2, 5)");
    says(r.execute({{home, whole, in.data()}}, {y}), run_status::dtype_mismatch, "i32");
    says(r.execute({{other, r.info("x"), in.data()}}, {y}), run_status::context_mismatch,
         "another context");
    says(r.execute({pm::runner_tensor(home, hard)}, {y}), run_status::invalid_argument,
         "host view");
    says(r.execute({x}, {{home, r.info("output0"), in.data()}}), run_status::invalid_argument,
         "share memory");
    const pm::job refused = r.execute_async({}, {y}, [](run_status) { FAIL("called"); });
    CHECK_FALSE(refused.accepted());
    CHECK(refused.wait() == run_status::invalid_argument);
    CHECK(out == std::vector<float>(8, 5));
    CHECK(r.execute({x}, {y}) == run_status::ok);
    CHECK(r.stats().runs == 1);
}

TEST_CASE("runner: one that was moved from says so, and serves again when it is given another") {
    const pm::context home;
    pm::runner from = shifting(home, {2, 4});
    const pm::runner r = std::move(from);
    std::vector<float> in = counting(8, 0), out(8);
    const auto x = r.wrap("x", in.data()), y = r.wrap("output0", out.data());
    CHECK(from.execute({x}, {y}) == run_status::invalid_argument);
    CHECK(std::string(pm::run_message()).find("moved from") != std::string::npos);
    const pm::job refused = from.execute_async({x}, {y}, [](run_status) { FAIL("called"); });
    CHECK_FALSE(refused.accepted());
    CHECK(refused.wait() == run_status::invalid_argument);
    CHECK(from.inputs().empty());
    CHECK(from.outputs(io_view::host).empty());
    const auto says = [](auto&& f) { CHECK(code_of(f) == pm::errc::invalid_argument); };
    says([&] { from.info("x"); });
    says([&] { from.stats(); });
    says([&] { from.allocate("x"); });
    says([&] { from.wrap("x", in.data()); });
    says([&] { from.options(); });
    says([&] { from.where(); });
    says([&] { from.recorded(); });
    says([&] { from.profile_table(); });
    from = r;
    CHECK(from.execute({x}, {y}) == run_status::ok);
    CHECK(out == shifted(in));
}

TEST_CASE("runner: with profiling each run has its table, without it there is none") {
    const pm::context home;
    pm::runner_options o;
    o.profiling = true;
    const pm::runner timed = shifting(home, {64}, o), plain = shifting(home, {64});
    std::vector<float> in = counting(64, 0), out(64);
    for (const pm::runner& r : {timed, plain}) {
        const auto x = r.wrap("x", in.data()), y = r.wrap("output0", out.data());
        REQUIRE(r.execute({x}, {y}) == run_status::ok);
        REQUIRE(r.execute_async({x}, {y}).wait() == run_status::ok);
    }
    CHECK_FALSE(timed.profile_table().empty());
    CHECK(plain.profile_table().empty());
    CHECK(out == shifted(in));
}

TEST_CASE("runner: tensors of no elements run, and copy nothing") {
    const pm::context home;
    for (const io_view view : {io_view::host, io_view::hardware}) {
        pm::runner_options o;
        o.input_view = o.output_view = view;
        const pm::runner r = shifting(home, {0, 3}, o);
        CHECK(r.execute({r.allocate("x")}, {r.allocate("output0")}) == run_status::ok);
        CHECK(r.stats().copies_in == 0);
    }
}
