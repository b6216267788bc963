// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Kernels of the user's own on the device: values against plain C++, fused neighbours, several
// outputs, recordings, packs, caches, and what Slang says of a wrong text.
#include "support.hpp"

#include <pumice/exec/record_pack.hpp>
#include <pumice/front.hpp>
#include <pumice/kernels/custom_kernel.hpp>

#include <tests/support/scope.hpp>
#include <tests/support/skip.hpp>
#include <tests/support/thrown.hpp>
#include <tests/support/walked_graph.hpp>

#include <algorithm>
#include <cmath>

namespace pm = pumice;
using pm::any_tensor;
using pm::dtype;
using pm::errc;
using pm::shape;
using reals = std::vector<float>;

namespace {

bool on_host() { return pm::default_context().device().type == pm::device_type::host; }

const char* const saxpy_text =
    R"(void saxpy(uint3 thread, Input<F32> x, Input<F32> y, Output<F32> z, float a)
{
    z[thread.x] = a * x[thread.x] + y[thread.x];
})";
pm::kernel saxpy() {
    return {"saxpy",
            saxpy_text,
            {.inputs = {{.type = dtype::f32}, {.type = dtype::f32}}, .scalars = {dtype::f32}}};
}

/// y = 2 x over any element type, with what is fused before and behind it.
pm::kernel twice() {
    return {"twice",
            R"(void twice<X : IInput<T>, Y : IOutput<T>>(uint3 thread, X x, Y y)
{
    y[thread.x] = x[thread.x] + x[thread.x];
})",
            {.inputs = {{.type = "T", .fused = true}}, .outputs = {{.type = "T", .fused = true}}}};
}

pm::kernel sum_and_difference() {
    return {
        "sum_and_difference",
        R"(void sum_and_difference(uint3 t, Input<F32> x, Input<F32> y, Output<F32> s, Output<F32> d, Output<I32> n)
{
    s[t.x] = x[t.x] + y[t.x];
    d[t.x] = x[t.x] - y[t.x];
    if (t.x < n.size) n[t.x] = int(t.x) + x.size;
})",
        {.inputs = {{.type = dtype::f32}, {.type = dtype::f32}},
         .outputs = {{}, {}, {.type = dtype::i32, .shape = shape{3}}}}};
}

std::vector<float> numbers(std::int64_t n, float first = -3) {
    std::vector<float> v(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = first + 0.25f * float(i % 97);
    return v;
}
any_tensor tensor(const std::vector<float>& v, const shape& s,
                  const pm::context& home = pm::default_context()) {
    return pm::from_bytes(dtype::f32, s, std::as_bytes(std::span(v)), home);
}
any_tensor tensor(const std::vector<float>& v, const pm::context& home = pm::default_context()) {
    return tensor(v, {static_cast<std::int64_t>(v.size())}, home);
}

template <class F>
std::string fault(errc code, F&& f) {
    const pm::error e = test::thrown_by(f);
    CHECK_MESSAGE(e.code() == code, e.what());
    return e.what();
}
bool has(const std::string& text, std::string_view part) {
    const bool found = text.find(part) != text.npos;
    CHECK_MESSAGE(found, "no \"" << part << "\" in " << text);
    return found;
}

}  // namespace

#define NEEDS_DEVICE() \
    if (on_host()) PUMICE_SKIP("vulkan-device", "kernels in Slang need one")

TEST_CASE("own kernel: its host function in a compiled function") {
    const pm::context home{pm::host_only{}};
    const pm::kernel five("five", "void five(uint3 thread, Input<F32> x, Output<F32> y) {}",
                          {.inputs = {{.type = dtype::f32}},
                           .host = [](const pm::kernel_arguments& a) {
                               const auto x = a.inputs[0].as<float>(), y = a.outputs[0].as<float>();
                               for (std::size_t i = 0; i < x.size(); ++i) y[i] = 5 * x[i];
                           }});
    const auto g = pm::compile([&](const any_tensor& x) { return five(x) + x; });
    const any_tensor x = pm::from_span<float>({3}, reals{1, 2, 4}, home);
    for (int i = 0; i < 2; ++i) CHECK(pm::to_vector<float>(g(x)) == reals{6, 12, 24});
}

TEST_CASE("own kernel: a host function that asks its own context hears so, and loses nothing") {
    const pm::context home{pm::host_only{}};
    const pm::kernel asks("asks", "void asks(uint3 thread, Input<F32> x, Output<F32> y) {}",
                          {.inputs = {{.type = dtype::f32}},
                           .host = [&](const pm::kernel_arguments&) { home.stats(); }});
    const any_tensor x = pm::from_span<float>({3}, reals{1, 2, 4}, home);
    CHECK_THROWS_WITH_AS(pm::to_vector<float>(asks(x)),
                         doctest::Contains("give it a context of its own"), pm::error);
    CHECK(pm::to_vector<float>(x + x) == reals{2, 4, 8});
}

TEST_CASE("own kernel: ragged sizes, and numbers that change compile nothing") {
    NEEDS_DEVICE();
    const pm::kernel k = saxpy();
    for (const std::int64_t n : {1, 2, 31, 255, 256, 257, 1000, 4099, 70001}) {
        const reals x = numbers(n), y = numbers(n, 5);
        const pm::statistics before = pm::stats();
        for (const float a : {0.0f, 0.5f, -3.0f}) {
            const auto z = pm::to_vector<float>(k(tensor(x), tensor(y), a));
            int wrong = 0;
            for (std::size_t i = 0; i < z.size(); ++i) wrong += z[i] != a * x[i] + y[i];
            CHECK_MESSAGE(wrong == 0, n << ", " << a);
        }
        const pm::statistics after = pm::stats();
        CHECK(after.dispatches == before.dispatches + 3);
        if (n > 1)
            CHECK(after.slang_compiles + after.pipelines ==
                  before.slang_compiles + before.pipelines);
    }
}

TEST_CASE("own kernel: an element type that the text leaves open") {
    NEEDS_DEVICE();
    for (const dtype t : {dtype::f32, dtype::f16, dtype::bf16, dtype::i8, dtype::u8, dtype::i16,
                          dtype::i32, dtype::i64, dtype::u64}) {
        if (!pm::default_context().device().supports(t)) continue;
        const any_tensor x = pm::astype(tensor(numbers(333, 1)), t);
        const any_tensor y = twice()(x);
        CHECK(y.dtype() == t);
        CHECK_MESSAGE(pm::to_vector<float>(pm::astype(y, dtype::f32)) ==
                          pm::to_vector<float>(pm::astype(pm::apply<pm::op::add>(x, x),
                                                          dtype::f32)),
                      pm::to_string(t));
    }
}

TEST_CASE("own kernel: no elements, no dispatch") {
    NEEDS_DEVICE();
    const std::uint64_t before = pm::stats().dispatches;
    CHECK(pm::to_vector<float>(saxpy()(tensor({}), tensor({}), 1)).empty());
    CHECK(pm::to_vector<float>(twice()(tensor({}, {3, 0})) + 1.0).empty());
    CHECK(pm::stats().dispatches == before);
}

TEST_CASE("own kernel: its results come of one dispatch, asked for or not") {
    NEEDS_DEVICE();
    const reals x = numbers(500), y = numbers(500, 2);
    const pm::kernel k = sum_and_difference();
    const auto check = [&](const any_tensor& s, float sign) {
        const reals v = pm::to_vector<float>(s);
        int wrong = 0;
        for (std::size_t i = 0; i < v.size(); ++i) wrong += v[i] != x[i] + sign * y[i];
        CHECK(wrong == 0);
    };
    std::uint64_t before = pm::stats().dispatches;
    const auto [s, d, n] = k.outputs<3>(tensor(x), tensor(y));
    check(d, -1);
    check(s, 1);
    CHECK(pm::to_vector<std::int32_t>(n) == std::vector<std::int32_t>{500, 501, 502});
    CHECK(pm::stats().dispatches == before + 1);

    // The others are gone: they are written where nobody looks.
    before = pm::stats().dispatches;
    check(k.outputs<3>(tensor(x), tensor(y))[1], -1);
    CHECK(pm::to_vector<std::int32_t>(k.outputs<3>(tensor(x), tensor(y))[2]).back() == 502);
    CHECK(pm::stats().dispatches == before + 2);

    // Both in one fused kernel behind it, and one of them stored besides.
    before = pm::stats().dispatches;
    const auto all = k.outputs<3>(tensor(x), tensor(y));
    const any_tensor product = all[0] * all[1] + 1.0;
    const reals v = pm::to_vector<float>(product);
    int wrong = 0;
    for (std::size_t i = 0; i < v.size(); ++i)
        wrong += std::abs(v[i] - ((x[i] + y[i]) * (x[i] - y[i]) + 1)) > 1e-3f;
    CHECK(wrong == 0);
    check(all[0], 1);
    CHECK(pm::stats().dispatches == before + 2);

    const pm::context apart{pm::fusion::none{}};
    const auto unfused = k.outputs<3>(tensor(x, apart), tensor(y, apart));
    const std::uint64_t first = apart.stats().dispatches;
    check(unfused[0], 1);
    check(unfused[1], -1);
    CHECK(apart.stats().dispatches == first + 1);
}

TEST_CASE("own kernel: elementwise neighbours run inside where the description says so") {
    NEEDS_DEVICE();
    const reals x = numbers(21 * 13);
    const any_tensor a = tensor(x, {21, 13}), b = tensor(numbers(13), {13});
    const auto y = [&](const any_tensor& p, const any_tensor& q) {
        return pm::apply<pm::op::maximum>(twice()(p * 0.5 + q), 0.5) - q;
    };
    std::uint64_t before = pm::stats().dispatches;
    const any_tensor fused = y(a, b);
    const reals values = pm::to_vector<float>(fused);
    CHECK(pm::stats().dispatches == before + 1);
    has(pm::explain(fused), "kernel/twice (21, 13): multiply, add | maximum, subtract");
    const reals q = numbers(13);
    for (std::size_t i = 0; i < values.size(); ++i)
        REQUIRE(values[i] == doctest::Approx(std::max(x[i] + 2 * q[i % 13], 0.5f) - q[i % 13]));

    const pm::context apart{pm::fusion::none{}};
    before = apart.stats().dispatches;
    CHECK(pm::to_vector<float>(y(tensor(x, {21, 13}, apart), tensor(q, {13}, apart))) == values);
    CHECK(apart.stats().dispatches == before + 5);

    // Through a transposed view; and its own value kept, which then is what is read.
    before = pm::stats().dispatches;
    const any_tensor in = pm::permute_dims(a, std::array<std::int64_t, 2>{1, 0}) + 1.0;
    const any_tensor out = twice()(in);
    const reals turned = pm::to_vector<float>(out);
    CHECK(pm::stats().dispatches == before + 1);
    for (std::size_t i = 0; i < turned.size(); ++i)
        REQUIRE(turned[i] == 2 * (x[i % 21 * 13 + i / 21] + 1));
    before = pm::stats().dispatches;
    const any_tensor kept = twice()(a);
    const any_tensor next = kept + 1.0;
    pm::eval(kept, next);
    CHECK(pm::stats().dispatches == before + 2);
    CHECK(pm::to_vector<float>(next)[40] == pm::to_vector<float>(kept)[40] + 1);

    // An input that is not fused is stored first, also where a fused one reads it too.
    const pm::kernel both("both",
                          R"(void both<X : IInput<F32>>(uint3 t, X x, Input<F32> y, Output<F32> z)
{
    z[t.x] = x[t.x] - 2 * y[t.x];
})",
                          {.inputs = {{.fused = true}, {}}});
    before = pm::stats().dispatches;
    const any_tensor p = a + 1.0;
    const reals z = pm::to_vector<float>(both(p, p));
    CHECK(pm::stats().dispatches == before + 2);
    for (std::size_t i = 0; i < z.size(); ++i) REQUIRE(z[i] == -(x[i] + 1));
}

TEST_CASE("own kernel: views are copied, or read by their strides where the description says so") {
    NEEDS_DEVICE();
    const char* const text = R"(void turned(uint3 t, Input<F32> x, Output<F32> y)
{
    y[t.x, t.y] = x[t.x, t.y] + 100 * x.shape(0) + 10 * x.shape(1) + x.rank;
})";
    const auto kernel = [&](bool strided) {
        return pm::kernel("turned", text,
                          {.inputs = {{.type = dtype::f32, .rank = 2, .strided = strided}},
                           .grid = [](auto in, auto) { return in[0].shape; },
                           .group = {4, 8}});
    };
    const reals x = numbers(15);
    for (const bool strided : {false, true}) {
        const std::uint64_t before = pm::stats().dispatches;
        const any_tensor view =
            pm::permute_dims(tensor(x, {3, 5}), std::array<std::int64_t, 2>{1, 0});
        const reals y = pm::to_vector<float>(kernel(strided)(view));
        CHECK(pm::stats().dispatches == before + (strided ? 1 : 2));
        const any_tensor lazy =
            pm::permute_dims(tensor(x, {3, 5}) * 2.0, std::array<std::int64_t, 2>{1, 0});
        const reals z = pm::to_vector<float>(kernel(strided)(lazy));
        CHECK(pm::stats().dispatches == before + (strided ? 3 : 4));
        for (std::size_t i = 0; i < z.size(); ++i) CHECK(z[i] == 2 * x[i % 3 * 5 + i / 3] + 532);
        for (std::size_t i = 0; i < y.size(); ++i) CHECK(y[i] == x[i % 3 * 5 + i / 3] + 532);
    }
}

TEST_CASE("own kernel: a grid of three axes, whole groups with barriers, no inputs") {
    NEEDS_DEVICE();
    const pm::kernel reversed("reversed",
                              R"(groupshared int held[groupX];
void reversed(uint3 t, Output<I32> y)
{
    held[t.x % groupX] = int(t.x);
    GroupMemoryBarrierWithGroupSync();
    uint last = min(t.x / groupX * groupX + groupX, uint(y.shape(2))) - 1;
    if (t.x < y.shape(2)) y[t.z, t.y, t.x] = 1000 * int(t.z * 10 + t.y) + held[(last - t.x % groupX) % groupX];
})",
                              {.outputs = {{.type = dtype::i32, .shape = shape{2, 3, 100}}},
                               .grid = {100, 3, 2},
                               .group = {32},
                               .whole_groups = true});
    const auto y = pm::to_vector<std::int32_t>(reversed());
    int wrong = 0;
    for (int z = 0; z < 2; ++z)
        for (int r = 0; r < 3; ++r)
            for (int c = 0; c < 100; ++c) {
                const int begin = c / 32 * 32, end = std::min(begin + 32, 100);
                wrong += y[static_cast<std::size_t>((z * 3 + r) * 100 + c)] !=
                         1000 * (10 * z + r) + end - 1 - (c - begin);
            }
    CHECK(wrong == 0);
}

TEST_CASE("own kernel: checked, it stays within its operands") {
    NEEDS_DEVICE();
    const pm::kernel k("shifted",
                       R"(void shifted<X : IInput<F32>>(uint3 t, X x, Input<F32> y, Output<F32> z)
{
    z[int(t.x) - 5] = x[int(t.x) - 10] + y[int(t.x) + 10] + x.clamped(-1);
})",
                       {.inputs = {{.fused = true}, {}},
                        .grid = [](auto in, auto) { return shape{in[0].shape[0] + 20}; },
                        .checked = true});
    const reals x = numbers(50), z = pm::to_vector<float>(k(tensor(x) * 1.0, tensor(x)));
    for (int i = 0; i < 50; ++i) {
        const auto at = [&](int place) {
            return x[static_cast<std::size_t>(std::clamp(place, 0, 49))];
        };
        CHECK(z[static_cast<std::size_t>(i)] == at(i + 5 - 10) + at(i + 5 + 10) + at(0));
    }
}

TEST_CASE("own kernel: names that the text around it might have") {
    NEEDS_DEVICE();
    for (const std::string name : {"thread", "group", "local", "p", "grid", "s0"}) {
        const pm::kernel
            k(name,
              "void " + name +
                  "(uint3 t, Input<F32> x, Output<F32> y, float a) { y[t.x] = a * x[t.x]; }",
              {.inputs = {{.type = dtype::f32}}, .scalars = {dtype::f32}});
        const bool same = pm::to_vector<float>(k(tensor({3, 5}), 2)) == reals{6, 10};
        CHECK_MESSAGE(same, name);
    }
}

TEST_CASE("own kernel: in a recording, with results that nobody wants") {
    NEEDS_DEVICE();
    const auto f = pm::compile([](const any_tensor& x, const any_tensor& y) {
        const auto three = sum_and_difference().outputs<3>(x * 2.0, y);
        const any_tensor s = pm::reduce(pm::reduction::sum, twice()(three[1] + 1.0));
        const auto other = sum_and_difference().outputs<3>(x, x);
        return std::vector<any_tensor>{saxpy()(three[1], y, 0.5), s, other[2], other[0]};
    });
    for (int run = 0; run < 3; ++run) {
        const reals x = numbers(700, float(run)), y = numbers(700, 7);
        const any_tensor list[] = {tensor(x), tensor(y)};
        pm::upload(list);
        const pm::statistics before = pm::stats();
        const std::vector<any_tensor> r = f(list[0], list[1]);
        const pm::statistics after = pm::stats();
        const reals z = pm::to_vector<float>(r[0]);
        double sum = 0;
        int wrong = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
            const float d = 2 * x[i] - y[i];
            wrong += z[i] != 0.5f * d + y[i];
            sum += 2 * (d + 1);
        }
        CHECK(wrong == 0);
        CHECK(pm::to_vector<float>(r[1])[0] == doctest::Approx(sum));
        CHECK(pm::to_vector<std::int32_t>(r[2])[1] == 701);
        CHECK(pm::to_vector<float>(r[3])[699] == 2 * x[699]);
        if (run > 0) {
            CHECK(after.recordings == before.recordings);
            CHECK(after.slang_compiles == before.slang_compiles);
        }
    }
    const std::string text = f.get(tensor(numbers(700)), tensor(numbers(700))).explain();
    has(text, "kernel/sum_and_difference");
    has(text, "kernel/saxpy");
}

TEST_CASE("own kernel: disk, packs and texts") {
    NEEDS_DEVICE();
    const test::temporary_folder folder;
    const pm::cache_folder cache{(folder.path / "cache").string()};
    const auto run = [](const pm::context& home, const std::string& text = saxpy_text) {
        const pm::kernel k("saxpy", text, {.inputs = {{}, {}}, .scalars = {dtype::f32}});
        return pm::to_vector<float>(k(tensor({1, 2}, home), tensor({3, 4}, home), 10));
    };
    {
        const pm::context home(cache);
        CHECK(run(home) == reals{13, 24});
        CHECK(home.stats().slang_compiles == 1);
        std::string other = saxpy_text;
        other.replace(other.find("a * x"), 5, "a + x");
        CHECK(run(home, other) == reals{14, 16});
        CHECK(home.stats().slang_compiles == 2);
    }
    const pm::context again(cache);
    CHECK(run(again) == reals{13, 24});
    CHECK(again.stats().slang_compiles == 0);
    CHECK(again.stats().cache_hits == 1);

    const std::string pack = pm::record_pack([&](const pm::context& c) { run(c); });
    CHECK(pm::record_pack([&](const pm::context& c) { run(c); }, pm::null_device{again.device()}) ==
          pack);
    const test::variable no_slang{"PUMICE_SLANG_LIBRARY", (folder.path / "gone").string()};
    const pm::context bare(pm::pack(std::as_bytes(std::span(pack))),
                           pm::cache_folder{(folder.path / "empty").string()});
    CHECK(run(bare) == reals{13, 24});
    CHECK(bare.stats().slang_opens == 0);
    const std::string what =
        fault(errc::no_slang, [&] { run(bare, std::string(saxpy_text) + "\n// another"); });
    has(what, "saxpy");
}

TEST_CASE("own kernel: what Slang says names the kernel and the user's own line") {
    NEEDS_DEVICE();
    std::string text = saxpy_text;
    text.replace(text.find("+ y"), 3, "+ why");
    const pm::kernel k("saxpy", text, {.inputs = {{}, {}}, .scalars = {dtype::f32}});
    const any_tensor z = k(tensor({1, 2}), tensor({1, 2}), 1);
    const std::string what = fault(errc::compile_failed, [&] { pm::eval(z); });
    has(what, "refused the kernel saxpy");
    has(what, "saxpy.slang:3:");
    has(what, "undefined identifier 'why'");
    has(what, "   3 |     z[thread.x]");
    CHECK(what.find("warning") == what.npos);
    CHECK(!z.get()->realised());
    CHECK(pm::to_vector<float>(saxpy()(tensor({1}), tensor({2}), 3))[0] == 5);

    const pm::kernel wrong("saxpy", saxpy_text, {.inputs = {{}, {}}, .scalars = {dtype::f32}});
    has(fault(errc::compile_failed,
              [&] { pm::eval(wrong(pm::astype(tensor({1}), dtype::i32), tensor({2}), 3)); }),
        "got 'Input<I32>'");
}

TEST_CASE("own kernel: a grid or a workgroup beyond the device's limits") {
    NEEDS_DEVICE();
    const pm::device_info& device = pm::default_context().device();
    const auto with = [&](shape group, shape grid) {
        return pm::kernel("idle", "void idle(uint3 thread, Output<F32> y) {}",
                          {.outputs = {{.type = dtype::f32, .shape = shape{1}}},
                           .grid = [grid](auto, auto) { return grid; },
                           .group = group})();
    };
    has(fault(errc::unsupported,
              [&] { pm::eval(with({device.max_workgroup_invocations + 1}, {1})); }),
        "idle has workgroups of");
    has(fault(errc::unsupported,
              [&] { pm::eval(with({1, 1}, {1, device.max_workgroup_count[1] + 1})); }),
        "idle has a grid of");
    // Each axis within its limit, but more than drivers count: one ran none of them in silence.
    has(fault(errc::unsupported, [&] { pm::eval(with({1, 1, 1}, {65535, 65535, 65535})); }),
        "drivers count fewer than 2^32");
    // A line of any length is spread over two axes.
    pm::eval(with({1}, {device.max_workgroup_count[0] < 70000 ? device.max_workgroup_count[0] + 1
                                                              : 70000}));
}

TEST_CASE("own kernel: what a text must not declare is refused before the driver sees it") {
    using vulkan_functions = pm::vulkan::dispatcher;
    test::wishes w;
    w.edit = [](vulkan_functions& table) {
        test::count_calls<&vulkan_functions::vkCreateShaderModule>(table);
    };
    const std::optional<pm::context> found = test::open_context(w);
    if (!found) PUMICE_SKIP("vulkan-device", "kernels in Slang need one");
    const pm::context& home = *found;
    const auto modules = [] { return test::calls<&vulkan_functions::vkCreateShaderModule>(); };
    const auto run = [&](const std::string& before, const std::string& inside) {
        const pm::kernel k("hostile",
                           before + "\nvoid hostile(uint3 t, Input<F32> x, Output<F32> y)\n{\n" +
                               inside + "\n}\n",
                           {.inputs = {{.type = dtype::f32}}});
        return pm::to_vector<float>(k(tensor({1, 2, 3}, home)));
    };
    struct attempt {
        errc code;
        const char *before, *inside;
        std::vector<const char*> says;
    };
    const std::string shared = std::to_string(home.device().shared_memory / 4 + 1);
    const std::string own = "groupshared float mine[" + shared + "];";
    const attempt attempts[] = {
        {errc::unsupported,
         "RWStructuredBuffer<float> mine;",
         "y[t.x] = mine[t.x];",
         {"hostile", "`mine` (a buffer)", "take an Input or Output"}},
        {errc::unsupported,
         "Texture2D<float4> tex; SamplerState how;",
         "y[t.x] = tex.SampleLevel(how, float2(0, 0), 0).x;",
         {"(a texture or sampler)"}},
        {errc::unsupported,
         "struct P { float v; }; [[vk::push_constant]] ConstantBuffer<P> mine;",
         "y[t.x] = mine.v;",
         {"declares push constants, `mine`", "`.scalars`"}},
        {errc::unsupported, "cbuffer mine { float v; }", "y[t.x] = v;", {"(a constant buffer)"}},
        {errc::unsupported,
         own.c_str(),
         "mine[t.x] = x[t.x]; y[t.x] = mine[t.x + 1];",
         {"bytes of shared memory", "`mine`"}},
        {errc::unsupported,
         "groupshared float mine[1 << 20];",
         "mine[t.x] = x[t.x]; y[t.x] = mine[t.x + 1];",
         {"wants 4194304 bytes of shared memory"}},
        {errc::unsupported,
         "",
         "spirv_asm { OpCapability Geometry; }; y[t.x] = 1;",
         {"capability Geometry"}},
        {errc::unsupported,
         "",
         "spirv_asm { OpCapability Kernel; }; y[t.x] = 1;",
         {"capability Kernel"}},
        {errc::unsupported,
         "",
         "spirv_asm { OpExtension \"SPV_KHR_ray_query\"; }; y[t.x] = 1;",
         {"extension SPV_KHR_ray_query"}},
        {errc::compile_failed,
         "",
         "spirv_asm { OpUnreachable; }; y[t.x] = 1;",
         {"no SPIR-V that a driver could take"}},
        {errc::compile_failed, "", "spirv_asm { OpReturn; }; y[t.x] = 1;", {"stands where"}},
        {errc::compile_failed, "", "spirv_asm { OpKill; }; y[t.x] = 1;", {"not for compute"}},
        {errc::compile_failed, "", "spirv_asm { OpEmitVertex; }; y[t.x] = 1;", {"not for compute"}},
    };
    CHECK(run("", "y[t.x] = x[t.x] + 1;") == reals{2, 3, 4});
    CHECK(modules() == 1);
    for (const attempt& a : attempts) {
        CAPTURE(a.before);
        CAPTURE(a.inside);
        const std::string what = fault(a.code, [&] { run(a.before, a.inside); });
        for (const char* part : a.says) has(what, part);
        CHECK(modules() == 1);
    }
    CHECK(run("groupshared float mine[256];", "mine[t.x] = x[t.x]; y[t.x] = mine[t.x];") ==
          reals{1, 2, 3});
}

TEST_CASE("own kernel: a pack whose code is no longer what was recorded") {
    NEEDS_DEVICE();
    const test::temporary_folder folder;
    const auto run = [](const pm::context& home) {
        return pm::to_vector<float>(saxpy()(tensor({1, 2}, home), tensor({3, 4}, home), 10));
    };
    const std::string pack = pm::record_pack([&](const pm::context& c) { run(c); });
    // A word of the first code, and the checksum that goes with it.
    const auto changed = [&](std::size_t word, std::uint32_t value) {
        std::vector<std::uint32_t> words(pack.size() / 4);
        std::memcpy(words.data(), pack.data(), pack.size());
        words[words[16] + word] = value;
        const pm::digest sum =
            pm::digest_of({reinterpret_cast<const char*>(words.data() + 6), pack.size() - 24});
        std::memcpy(&words[2], &sum.low, 8);
        std::memcpy(&words[4], &sum.high, 8);
        return std::string(reinterpret_cast<const char*>(words.data()), pack.size());
    };
    const auto with = [&](const std::string& bytes) {
        return pm::context(pm::pack(std::as_bytes(std::span(bytes))),
                           pm::cache_folder{(folder.path / "none").string()});
    };
    CHECK(run(with(changed(1, 0x10600))) == reals{13, 24});
    has(fault(errc::unsupported, [&] { run(with(changed(1, 0x10700))); }), "is SPIR-V 1.7");
    has(fault(errc::compile_failed, [&] { run(with(changed(0, 0))); }), "is not SPIR-V");
    has(fault(errc::compile_failed, [&] { run(with(changed(5, 0))); }),
        "if it comes from a pack or a cache");
}

TEST_CASE("own kernel: names that Slang keeps, and brackets without end") {
    const auto make = [](const std::string& name, const std::string& inside,
                         const char* type = "T") {
        return pm::kernel(name,
                          "void " + name + "(uint3 t, Input<F32> x, Output<F32> y) {" + inside +
                              "}",
                          {.inputs = {{.type = type}}});
    };
    make("forward", "");
    for (const std::string name : {"for", "if", "while", "struct", "void", "float", "in", "This"})
        has(fault(errc::invalid_argument, [&] { make(name, ""); }), "is a word of Slang's");
    has(fault(errc::invalid_argument, [&] { make("f", "", "interface"); }),
        "the element type's name `interface` is a word of Slang's");

    const auto nested = [](std::size_t n, char open, char close) {
        return std::string(n, open) + std::string(n, close);
    };
    for (const char* const pair : {"()", "[]", "{}"}) {
        make("f", nested(255, pair[0], pair[1]));
        for (const std::size_t n : {256u, 3000u, 200000u})
            has(fault(errc::invalid_argument, [&] { make("f", nested(n, pair[0], pair[1])); }),
                "the brackets of the Slang text nest");
    }
    make("f", "// " + std::string(1000, '(') + "\n/* " + std::string(1000, '{') + " */ printf(\"" +
                  std::string(1000, '[') + "\\\"\");");
    make("f", "\"" + std::string(1000, '('));  // no end: Slang says so
    make("f", "/*" + std::string(1000, '('));
}

TEST_CASE("own kernel: a profile names it") {
    NEEDS_DEVICE();
    pm::profiler watch;
    pm::eval(saxpy()(tensor(numbers(9)), tensor(numbers(9)), 1));
    has(watch.finish().table(), "kernel/saxpy");
}

TEST_CASE("own kernel: a fused operand past 2^31 elements is read by 64-bit indices") {
    NEEDS_DEVICE();
    const any_tensor x = tensor(numbers(6), {2, 3}), y = twice()(x + 1.0);
    const pm::plan_builder b = pumice_test::walked_graph(y).lowered();
    REQUIRE(b.made.steps.size() == 1);
    pm::custom_kernel_problem p = *b.made.steps[0].what.get_if<pm::custom_kernel_problem>();
    const pm::device_info& device = pm::default_context().device();
    CHECK(pm::custom_kernel_slang::make(p, device).text->find("int64_t") == std::string::npos);
    p.inputs[0].leaves[0].steps = {std::int64_t{1} << 31, 1};
    const pm::launch wide = pm::custom_kernel_slang::make(p, device);
    CHECK(wide.text->find("FusedInput<F32, " + pm::emitted_name(p.inputs[0].body->view()) +
                          ", int64_t, 2>") != std::string::npos);
    pm::kernel_service kernels(pm::service_options_of({}));
    CHECK(kernels.get(pm::request_for(wide))->words.size() > 100);

    const pm::kernel strided("strided", "void strided(uint3 t, Input<F32> x, Output<F32> y) {}",
                             {.inputs = {{.strided = true}}});
    const pm::plan_builder whole = pumice_test::walked_graph(strided(x)).lowered();
    pm::custom_kernel_problem q = *whole.made.steps.at(0).what.get_if<pm::custom_kernel_problem>();
    q.inputs[0].leaves[0].offset = std::int64_t{1} << 32;
    CHECK(pm::custom_kernel_slang::supports(q, device).yes);
    q.inputs[0].leaves[0].steps = {std::int64_t{1} << 31, 1};
    has(pm::custom_kernel_slang::supports(q, device).reason, "spans more than 2^31 elements");
}

TEST_CASE("own kernel: eager runs it at its line, and a loop of calls does not pile up") {
    const pm::kernel k("step",
                       "void step(uint3 t, Input<F32> x, Output<F32> y) { y[t.x] = x[t.x] + 1; }",
                       {.inputs = {{}}, .host = [](const pm::kernel_arguments& a) {
                            a.outputs[0].as<float>()[0] = a.inputs[0].as<float>()[0] + 1;
                        }});
    CHECK(k(tensor({1}, pm::context(pm::host_only{}, pm::eager{}))).get()->realised());
    const pm::context home(pm::host_only{});
    any_tensor x = tensor({0}, home);
    for (int i = 0; i < 5000; ++i) x = k(x);
    CHECK(home.stats().evals > 0);
    CHECK(pm::to_vector<float>(x)[0] == 5000);
}

TEST_CASE("own kernel: the launch of a line, of a plane and of an unwanted output") {
    pm::device_info device;
    device.max_workgroup_invocations = 256;
    device.max_workgroup_size = {256, 256, 64};
    device.max_workgroup_count = {100, 100, 100};
    const auto problem = [](std::array<std::int64_t, 3> threads, shape group) {
        auto call = std::make_shared<pm::kernel_call>();
        call->what = pm::make_custom_kernel("f", "void f(",
                                            {.outputs = {{.type = dtype::f32, .shape = shape{7}},
                                                         {.type = dtype::f32, .shape = shape{9}}},
                                             .group = group});
        call->outputs = {{dtype::f32, {7}}, {dtype::f32, {9}}};
        call->threads = threads;
        pm::custom_kernel_problem p;
        p.call = call;
        p.outputs = {{0, dtype::f32, 0, {1}}, {-1, dtype::f32, 0, {}}};
        return p;
    };
    using grid = std::array<std::uint32_t, 3>;
    const auto line = problem({256 * 150, 1, 1}, {256});
    CHECK(pm::custom_kernel_slang::supports(line, device).yes);
    const pm::launch l = pm::custom_kernel_slang::make(line, device);
    CHECK(l.grid == grid{75, 2, 1});
    CHECK(pm::custom_kernel_slang::scratch(line, device) == 48);
    REQUIRE(l.accesses.size() == 2);
    CHECK(l.accesses[0].buffer == 0);
    CHECK(l.accesses[0].end == 28);
    CHECK(l.accesses[1].buffer == -2);
    CHECK(l.accesses[1].end == 36);
    CHECK(l.accesses[1].write);
    CHECK(pm::custom_kernel_slang::make(problem({33, 5, 2}, {16, 4}), device).grid ==
          grid{3, 2, 2});
    CHECK(!pm::custom_kernel_slang::supports(problem({33, 500, 2}, {16, 4}), device).yes);
    CHECK(!pm::custom_kernel_slang::supports(problem({1, 1, 1}, {32, 32}), device).yes);
}
