// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <tests/pages/shows.hpp>

#include <pumice/base/expected.hpp>
#include <pumice/control.hpp>
#include <pumice/devices.hpp>
#include <pumice/policy/compile_progress.hpp>
#include <pumice/policy/each_op.hpp>
#include <pumice/report.hpp>
#include <pumice/tensor/coded.hpp>
#include <pumice/tensor/compare.hpp>
#include <pumice/tensor/memory.hpp>
#include <pumice/varying.hpp>

#include <cstdio>
#include <sstream>

namespace pm = pumice;

// clang-format off: lines as the pages show them

// page: tensors
TEST_CASE("pages: tensors") {
    pm::matrix<float> x = {{1, 2}, {3, 4}};
    const pm::any_tensor any = x;  // its type and rank are known at run time
    std::vector<std::byte> bytes(16);
    //
    SHOWS("(2, 2)", pm::tensor<float, pm::extents<2, 2>>(any).shape());
    SHOWS("[[1. 2.] [3. 4.]]", pm::tensor<float, pm::dims<2>, pm::column_major>(x));
    SHOWS("[1 2 3]", pm::vector<int>{1, 2, 3});
    SHOWS("[[1 2] [3 4]]", pm::matrix<int>{{1, 2}, {3, 4}});
    SHOWS("2.5", pm::scalar_tensor<float>(2.5f).item());
    SHOWS("f32", pm::any_tensor(x).dtype());
    SHOWS("[[0. 0.] [0. 0.]]", pm::zeros<float>(x.shape()).rank<2>());  // pm::created
    SHOWS("true", pm::fuses<decltype(pm::relu(x * 2.0f))>);  // pm::expression
    SHOWS("[[2. 3.] [4. 5.]]", x + 1.0f);
    SHOWS("[[0.5 1.] [1.5 2.]]", x - x / 2.0f);
    SHOWS("[[-1. -4.] [-9. -16.]]", -x * x);
    SHOWS("[[1. 2.] [0. 1.]]", x % 3.0f);
    SHOWS("[[False True] [True False]]", (x > 1.0f) & (x <= 3.0f));
    SHOWS("[[False True] [False False]]", (x == 2.0f) | (x != x));
    SHOWS("[[False True] [True False]]", ~(x < 2.0f) ^ (x >= 4.0f));
    SHOWS("[[False True] [True True]]", !(x < 2.0f));
    SHOWS("[4 8]", (pm::vector<int>{1, 2} << 3) >> 1);
    SHOWS("[[4. 6.] [8. 10.]]", (x += 1.0f) *= 2.0f);
    SHOWS("[[1. 2.] [3. 4.]]", (x /= 2.0f) -= 1.0f);
    pm::eval(x, any);
    SHOWS("{2, 4, 6, 8}", (x + x).to_vector());
    SHOWS("{1, 2, 3, 4}", pm::to_vector<float>(any));
    SHOWS("{1, 2, 3, 4}", x.host());
    x.host_mut()[3] = 9;
    SHOWS("[[1. 2.] [3. 9.]]", x);
    pm::any_tensor written = pm::zeros(pm::dtype::f32, {2});
    pm::write(written, std::as_bytes(std::span(x.host()).first(2)));
    SHOWS("[1. 2.]", written);
    pm::read(any, bytes);
    SHOWS("[1. 2. 3. 4.]", pm::from_bytes(pm::dtype::f32, {4}, bytes));
    SHOWS("8", pm::host(written).size());
    SHOWS("8", pm::host_mut(written).size_bytes());
    pm::upload(std::span(&any, 1));
    SHOWS("[[1. 2.] [3. 9.]]", pm::to(x, pm::default_context()));
    SHOWS("weights-3", pm::named(x, "weights", 3).name());
    SHOWS("[[1. 2.] [3. 4.]]", pm::to_string(any));
    std::ostringstream out;
    out << x + 1.0f;  // operator<<
    SHOWS("true", pm::kernel_source(x + x).find("v.x0 + v.x0") != std::string::npos);
    SHOWS("true", std::string_view(pm::kernel_text<decltype(x + x)>).size() > 0);
    const std::string why = pm::explain(any);
    CHECK(pm::stats().device_bytes >= 0);
    static_assert(pm::array_argument<decltype(x + x)> && pm::any_array<pm::any_tensor> && pm::number_argument<float>);
    pm::at(x, 0) += 1.0f;  // pm::assignable
    SHOWS("[[2. 3.] [3. 9.]]", x);
    SHOWS("18", pm::coded_tensor::from(pm::formats::q4_0(), pm::full(pm::dtype::f32, {32}, 1)).size_bytes());
}

// page: types
TEST_CASE("pages: types") {
    const pm::vector<float> x = {1, 2};
    //
    SHOWS("1.5", pm::f16(1.0f) + 0.5f);
    SHOWS("3.14062", float(pm::bf16(3.14159f)));
    SHOWS("0.3125", float(pm::f8_e4m3(0.3f)));
    SHOWS("0.3125", float(pm::f8_e5m2(0.3f)));
    SHOWS("9", int(pm::i4(-3)) + int(pm::u4(12)));
    SHOWS("bf16", pm::dtype_of<pm::bf16>);
    SHOWS("i8", pm::to_string(pm::dtype::i8));
    SHOWS("16", pm::info(pm::dtype::f16).bits);
    SHOWS("false", pm::is_floating(pm::dtype::i32));
    SHOWS("i16", *pm::promote(pm::dtype::u8, pm::dtype::i8));
    SHOWS("f64", pm::result_type(x, pm::dtype::f64));
    SHOWS("false", pm::device(x).device().name.empty());
    SHOWS("8", pm::array_namespace_info::max_dimensions);
    SHOWS("f64", pm::dtype_of<pm::result_type_t<float, double>>);
    SHOWS("true", pm::can_cast(pm::dtype::i8, pm::dtype::i32));
    SHOWS("true", pm::isdtype(pm::dtype::u8, "integral"));
    SHOWS("65504", pm::finfo(pm::dtype::f16).max);
    SHOWS("-128", pm::iinfo(pm::dtype::i8).min);
    SHOWS("3.14159", pm::constants::pi);
    SHOWS("2024.12", pm::array_api_version);
    SHOWS("(2, 3)", pm::shape{2, 3});
    SHOWS("6", pm::element_count(pm::shape{2, 3}));
    SHOWS("(2, 3)", pm::broadcast(pm::shape{2, 1}, pm::shape{3}, "broadcast"));
    SHOWS("(2, -1)", pm::extents<2, pm::dynamic_extent>::to_shape());
    SHOWS("3", pm::dims<3>::rank);
    SHOWS("true", pm::layout<pm::row_major> && pm::layout<pm::column_major> && pm::layout<pm::strided>);
    SHOWS("true", pm::element<float> && !pm::element<long double>);
    SHOWS("1.5", pm::scalar(1.5).as<float>());
    SHOWS("3", pm::span<const std::int64_t>(pm::shape{4, 5, 6}).size());
}

// page: contexts
TEST_CASE("pages: contexts") {
    const pm::context host(pm::host_only{});
    const auto on_host = [](const auto&... policies) {
        return pm::context(pm::host_only{}, policies...).device().name;
    };
    //
    SHOWS("host", host.device().name);
    SHOWS("[1. 1.]", pm::ones<float>({2}, host));
    SHOWS("0", host.stats().submits);
    SHOWS("true", pm::context::try_make(pm::host_only{}).has_value());
    CHECK_THROWS_AS(pm::context(pm::device_named{"no such device"}), pm::error);
    SHOWS("host", on_host(pm::fusion::none{}));
    SHOWS("host", on_host(pm::precision::bf16_3x{}, pm::precision::f16_accumulation{}));
    SHOWS("host", on_host(pm::precision::bf16_3x{}, pm::precision::strict{}));
    SHOWS("false", pm::policy_set{}.allows(pm::reduced_precision::bf16_3x));
    SHOWS("host", on_host(pm::fusion::full{}, pm::eager{}));
    SHOWS("host", on_host(pm::memory_limit{1 << 28}, pm::allocation_limit{1 << 26}, pm::run_ahead{1 << 24}));
    SHOWS("host", on_host(pm::portable{}));
    SHOWS("host", on_host(pm::fastest{}));
    SHOWS("host", on_host(pm::choose_kernel{[](auto list) { return list.size() - 1; }}));
    SHOWS("host", on_host(pm::cpu_fallback::forbid{}));
    SHOWS("host", on_host(pm::cpu_fallback::allow{}, pm::cpu_fallback::warn{}));
    SHOWS("host", on_host(pm::submit_budget{500}, pm::megakernels{}, pm::gathering::none{}, pm::poll_for{20}));
    SHOWS("host", on_host(pm::gathering::up_to{32, 100}));
    SHOWS("host", on_host(pm::host_below{4096}));
    SHOWS("host", on_host(pm::cache_folder{"/tmp/pumice"}));
    SHOWS("true", pm::context(pm::null_device{}).device().name.empty());
    SHOWS("true", pm::attempt([] { return pm::zeros<float>({2}); }).has_value());
    static_assert(pm::policy<pm::eager>);
    const pm::context careful(pm::host_only{}, pm::check_finite{.infinities = false});
    CHECK_THROWS_AS(pm::sum(pm::log(pm::full<float>({2}, -1.0f, careful))).item(), pm::error);  // names log
    int ops = 0;
    const pm::context seen(pm::host_only{}, pm::watch_ops{[&ops](const pm::computed_op&) { ++ops; }});
    SHOWS("4", pm::sum(pm::sqrt(pm::full<float>({2}, 4.0f, seen))).item());
    SHOWS("true", ops >= 1);
    const pm::context patient(pm::host_only{}, pm::watch_compiling{[](const pm::compile_progress& p) {
        std::printf("%d of %d kernels, %.1f s\n", p.done, p.total, p.seconds);
    }});
    SHOWS("6", pm::sum(pm::full<float>({3}, 2.0f, patient)).item());
    // Where there is what they name:
    const auto elsewhere = [](const pm::device_rates& rates) {
        const pm::context gpu(pm::gpu_only{}, pm::prefer_discrete{}, pm::measured_rates{rates});
        const pm::context low(pm::vulkan_only{}, pm::prefer_integrated{}, pm::pack{"kernels.pack"},
                              pm::uploading::on_transfer_queues{});
        const pm::context both(pm::devices{pm::device_named{"NVIDIA"}, pm::device_named{"AMD"}});
        const auto memory = pm::place_memory(gpu.get(), {.kind = pm::memory_kind::device, .bytes = 4096});
        return gpu.device().name + low.device().name + both.device().name;
    };
    static_cast<void>(elsewhere);
    pm::set_default_context(pm::default_context());
}

// page: functions
TEST_CASE("pages: functions") {
    const pm::vector<float> x = {1, 2, 3};
    const pm::matrix<float> rows = {{1, 2}, {3, 4}};
    //
    const auto f = pm::compile([](const pm::vector<float>& v) { return pm::vector<float>(v * 2.0f); });
    SHOWS("[2. 4. 6.]", f(x));
    const pm::executable e = f.get(x);
    SHOWS("[2. 4. 6.]", e.run({x})[0]);
    SHOWS("(3,)", e.outputs()[0].shape);
    const auto g = pm::compile([](const pm::vector<float>& v) { return pm::vector<float>(v + v); },
                               pm::varying{.at_most = 64});
    SHOWS("[2. 4. 6.]", g(x));
    SHOWS("[10. 20. 30.]", pm::cond(pm::max(x) > 2.0f, [&] { return pm::vector<float>(x * 10.0f); },
                       [&] { return x; }));
    SHOWS("[64. 128. 192.]", pm::while_loop([](const pm::vector<float>& v) { return pm::max(v) < 100.0f; },
                             [](const pm::vector<float>& v) { return pm::vector<float>(v * 2.0f); },
                             x));
    SHOWS("[4. 5. 6.]", pm::fori_loop(0, 3, [](const auto&, const pm::vector<float>& v) {
              return pm::vector<float>(v + 1.0f);
          }, x));
    SHOWS("[[1. 2.] [4. 6.]]", std::get<1>(pm::scan(
                  [](const pm::vector<float>& sum, const pm::vector<float>& row) {
                      const pm::vector<float> next = sum + row;
                      return std::tuple(next, next);
                  },
                  pm::vector<float>{0, 0}, rows)));
    const pm::executable::value like[] = {{pm::dtype::f32, {3}}};
    const pm::executable traced = pm::trace(pm::default_context(), like, [](std::span<const pm::any_tensor> in) {
        return std::vector<pm::any_tensor>{in[0] + in[0]};
    });
    SHOWS("[2. 4. 6.]", traced.run({x})[0]);
    pm::kernel_options how;
    how.inputs = {{.type = pm::dtype::f32}};
    how.outputs = {{.like = 0}};
    how.host = [](const pm::kernel_arguments& a) {
        for (std::size_t i = 0; i < 3; ++i) a.outputs[0].as<float>()[i] = -a.inputs[0].as<float>()[i];
    };
    const pm::kernel turn("turn", "void turn(uint3 t, Input<F32> x, Output<F32> y) { y[t.x] = -x[t.x]; }", how);
    SHOWS("[-1. -2. -3.]", turn(x));
    pm::profiler profiler;
    pm::eval(x * 3.0f);
    SHOWS("false", profiler.finish().table().empty());
    const pm::comparison proof = pm::compare([](const pm::vector<float>& v) { return pm::vector<float>(pm::exp(v) * 2.0f); }, pm::ones<float>({3}).rank<1>());
    SHOWS("true", bool(proof));  // else pm::to_string(proof) names the step
    SHOWS("1", pm::compare_options{}.tolerance);
    const pm::measured_run run = pm::measure_run(traced, std::vector<pm::any_tensor>{x});
    SHOWS("true", pm::report_page(traced, &run).starts_with("<!DOCTYPE html>"));  // pm::report writes it to a file
}
