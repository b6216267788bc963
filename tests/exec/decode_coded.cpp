// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Tensors in storage formats, on the default device and on the host: what products, elementwise ops
// and takes make of blocks is what they make of the same values in f32, and they read the blocks.
#include <pumice/exec/plan/json.hpp>
#include <pumice/front.hpp>
#include <pumice/policy/passes.hpp>
#include <pumice/tensor/coded.hpp>

#include <tests/support/skip.hpp>
#include <tests/support/thrown.hpp>

#include <doctest/doctest.h>

#include <cmath>

namespace pm = pumice;
using pm::any_tensor;

namespace {

std::vector<pm::context> places() { return {pm::context(), pm::context(pm::host_only{})}; }

any_tensor numbers(const pm::shape& extent, std::uint32_t seed, const pm::context& home,
                   pm::dtype type = pm::dtype::f32) {
    any_tensor x = pm::random::uniform(type, extent, pm::random::key(seed), -1, 1, home);
    pm::eval(x);
    return x;
}
any_tensor turned(const any_tensor& x) {
    return pm::permute_dims(x, std::vector<std::int64_t>{1, 0});
}
std::vector<float> floats(const any_tensor& x) {
    return pm::to_vector<float>(pm::astype(x, pm::dtype::f32));
}

/// x times a right factor in f32, against the sums of the products in double: within k half units
/// of f32 of the sum of magnitudes, and one rounding to the result's type.
void check_product(const any_tensor& x, const any_tensor& w, const any_tensor& y) {
    const std::vector<float> a = floats(x), b = floats(w), is = floats(y);
    const std::int64_t m = x.shape()[0], k = x.shape()[1], n = w.shape()[1];
    const double last = y.dtype() == pm::dtype::f16 ? 0x1p-10 : 0x1p-22;
    int wrong = 0;
    for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
            double sum = 0, size = 0;
            for (std::int64_t c = 0; c < k; ++c) {
                const double p = static_cast<double>(a[static_cast<std::size_t>(i * k + c)]) *
                                 static_cast<double>(b[static_cast<std::size_t>(c * n + j)]);
                sum += p, size += std::fabs(p);
            }
            const double got = static_cast<double>(is[static_cast<std::size_t>(i * n + j)]);
            wrong += !(std::fabs(got - sum) <=
                       static_cast<double>(k) * 0x1p-23 * size + last * std::fabs(sum) + 1e-30);
        }
    CHECK(wrong == 0);
}

/// The kernel of that name wherever it can.
struct only {
    std::string name;
    void apply(pm::policy_set& set) const {
        set.kernel = [wanted = name](std::span<const pm::kernel_candidate> able) {
            for (std::size_t i = 0; i < able.size(); ++i)
                if (able[i].name == wanted) return i;
            return std::size_t{0};
        };
    }
};

constexpr std::int64_t sizes[][3] = {
    {1, 32, 64}, {5, 7, 32}, {17, 40, 96}, {64, 64, 64}, {33, 65, 160}};

}  // namespace

TEST_CASE("coded: blocks of 32 integers of 4 bits and a scale, as a factor of products") {
    for (const pm::context& home : places())
        for (const auto& [m, n, k] : sizes)
            for (const pm::dtype type : {pm::dtype::f32, pm::dtype::f16}) {
                CAPTURE(m);
                CAPTURE(n);
                CAPTURE(pm::to_string(type));
                const auto w =
                    pm::coded_tensor::from(pm::formats::q4_0(), numbers({n, k}, 7, home));
                CHECK(w.size_bytes() == n * k / 32 * 18);
                const any_tensor x = numbers({m, k}, 8, home, type);
                check_product(x, turned(w.decoded(type)), pm::matmul(x, turned(w.decoded(type))));
            }
}

TEST_CASE("coded: a product reads the blocks and nothing else of the weights") {
    const pm::context home(pm::without_pass{"store_prologues"});
    const auto w = pm::coded_tensor::from(pm::formats::q4_0(), numbers({40, 96}, 1, home));
    const pm::executable::value in[] = {{pm::dtype::f16, {17, 96}}};
    const pm::executable f = pm::trace(home, in, [&](std::span<const any_tensor> t) {
        return std::vector<any_tensor>{pm::matmul(t[0], turned(w.decoded(pm::dtype::f16)))};
    });
    const pm::plan& p = f.planned();
    REQUIRE(p.steps.size() == 1);
    const auto* product = p.steps[0].what.get_if<pm::matmul_problem>();
    REQUIRE(product);
    REQUIRE(product->b.leaves.size() == 1);
    const pm::operand& o = product->b.leaves[0];
    CHECK(pm::bytes_of(o, {96, 40}) == 40 * 96 / 32 * 18);
    const pm::access reads = pm::range_of(o, {96, 40}, false);
    CHECK(reads.end - reads.begin == w.size_bytes());
    CHECK(p.at(p.steps[0].buffers[static_cast<std::size_t>(o.buffer)]).bytes() == w.size_bytes());
    // Written, read and written again it is the same text.
    const std::string text = pm::to_json(p);
    CHECK(pm::to_json(pm::plan_from_json(text)) == text);
    CHECK(text.find("q4_0") != std::string::npos);
    const any_tensor x = numbers({17, 96}, 2, home, pm::dtype::f16);
    check_product(x, turned(w.decoded(pm::dtype::f16)), f.run({x})[0]);
}

TEST_CASE("coded: every kernel of products decodes, that of cooperative matrices too") {
    for (const char* kernel : {"matmul/cooperative", "matmul/tiled", "matmul/split_k"}) {
        CAPTURE(kernel);
        const only wanted{kernel};
        const pm::context home(wanted, pm::without_pass{"store_prologues"});
        int ran = 0;
        for (const auto& [m, n, k] : sizes)
            for (const pm::dtype type : {pm::dtype::f16, pm::dtype::f32}) {
                const auto w =
                    pm::coded_tensor::from(pm::formats::q4_0(), numbers({n, k}, 7, home));
                const any_tensor x = numbers({m, k}, 8, home, type);
                any_tensor y = pm::matmul(x, turned(w.decoded(type)));
                const std::uint64_t before = home.stats().dispatches;
                pm::eval(y);
                const std::uint64_t dispatches = home.stats().dispatches - before;
                check_product(x, turned(w.decoded(type)), y);
                const std::string text = pm::explain(y);
                // One dispatch: nothing was decoded before.
                ran +=
                    text.find(kernel + std::string(" (")) != std::string::npos && dispatches == 1;
            }
        const bool cooperative = !home.device().matrix_shapes.empty();
        if (home.device().type != pm::device_type::host &&
            (cooperative || kernel != std::string("matmul/cooperative")))
            CHECK(ran > 0);
    }
}

TEST_CASE("coded: products of few rows of f16 decode in cuts along k, in every format") {
    const pm::context home(only{"matmul/split_k"}, pm::without_pass{"store_prologues"}),
        host(pm::host_only{});
    if (home.device().type == pm::device_type::host)
        PUMICE_SKIP("vulkan-device", "the case is of a device");
    const auto here = [&](const any_tensor& there) {
        std::vector<std::byte>
            bytes(static_cast<std::size_t>(pm::byte_count(there.dtype(),
                                                          pm::element_count(there.shape()))));
        there.get()->owner->read(there.get(), bytes.data());
        return pm::from_bytes(there.dtype(), there.shape(), bytes, home);
    };
    const auto check = [&](std::int64_t m, auto&& weights, const auto&... made_of) {
        const any_tensor stored = weights(made_of...),
                         x = numbers({m, stored.shape()[0]}, 8, host, pm::dtype::f16);
        any_tensor y = pm::matmul(here(x), weights(here(made_of)...));
        pm::eval(y);
        CHECK(pm::explain(y).starts_with("matmul/split_k ("));
        check_product(x, stored, y);
    };
    const std::int64_t k = 64, n = 33;
    const any_tensor rows = numbers({n, k}, 7, host), sevens = numbers({k, n}, 5, host) * 7.0;
    for (const std::int64_t m : {1, 3}) {
        const auto coded = pm::coded_tensor::from(pm::formats::q4_0(), rows);
        check(
            m,
            [&](const any_tensor& blocks) {
                return turned(pm::coded_tensor(pm::formats::q4_0(), blocks, {n, k})
                                  .decoded(pm::dtype::f16));
            },
            coded.blocks());
    }
    const auto scaled = [&](pm::dtype weight, const pm::shape& scales, std::int64_t axis,
                            std::int64_t block) {
        CAPTURE(pm::to_string(weight));
        check(
            1,
            [&](const any_tensor& q, const any_tensor& s, const any_tensor& z) {
                return pm::dequantize_linear(q, s, z, axis, block);
            },
            pm::astype(sevens, weight), numbers(scales, 9, host, pm::dtype::f16) + 1.5,
            pm::astype(numbers(scales, 4, host) * 3.0, weight));
    };
    scaled(pm::dtype::i4, {}, 1, 0);
    scaled(pm::dtype::u4, {n}, 1, 0);
    scaled(pm::dtype::i8, {k / 16, n}, 0, 16);
    scaled(pm::dtype::u8, {k}, 0, 0);
    for (const pm::dtype weight : {pm::dtype::f8_e4m3, pm::dtype::f8_e5m2})
        check(
            2, [](const any_tensor& w) { return pm::astype(w, pm::dtype::f16) * 2.0; },
            pm::astype(sevens, weight));
}

TEST_CASE("coded: elementwise, in part, turned, taken, printed and read back") {
    for (const pm::context& home : places()) {
        const any_tensor given = numbers({6, 64}, 3, home);
        const auto w = pm::coded_tensor::from(pm::formats::q4_0(), given);
        const std::vector<float> v = floats(w.decoded()), g = floats(given);
        float most = 0;
        for (std::size_t i = 0; i < v.size(); ++i) most = std::max(most, std::fabs(v[i] - g[i]));
        CHECK(most <= 1.0f / 8);
        const std::vector<float> r = floats(pm::relu(w.decoded() * 2.0 + 1.0));
        for (std::size_t i = 0; i < v.size(); ++i) CHECK(r[i] == std::fmax(v[i] * 2 + 1, 0.0f));
        const std::vector<pm::slice> cut{{1, 5, 1}, {3, 50, 5}};
        const std::vector<float> part = floats(pm::slice_view(w.decoded(), cut) + 0.0);
        for (std::size_t i = 0; i < 4; ++i)
            for (std::size_t c = 0; c < 10; ++c)
                CHECK(part[10 * i + c] == v[64 * (i + 1) + 3 + 5 * c]);
        const std::vector<float> t = floats(turned(w.decoded()));
        CHECK(t[6 * 5 + 2] == v[64 * 2 + 5]);
        const auto rows =
            pm::from_span<std::int32_t>({3}, std::vector<std::int32_t>{4, -1, 0}, home);
        const auto taken = w.take(any_tensor(rows));
        CHECK(taken.shape() == pm::shape{3, 64});
        const std::vector<float> u = floats(taken.decoded());
        for (std::size_t c = 0; c < 64; ++c) {
            CHECK(u[c] == v[64 * 4 + c]);
            CHECK(u[64 + c] == v[64 * 5 + c]);
        }
        CHECK(pm::to_string(w.decoded()) == pm::to_string(pm::astype(w.decoded(), pm::dtype::f32)));
        std::vector<std::byte> bytes(static_cast<std::size_t>(w.size_bytes()));
        pm::read(w.blocks(), bytes);
        const auto again = pm::coded_tensor::from_bytes(pm::formats::q4_0(), {6, 64}, bytes, home);
        CHECK(floats(again.decoded()) == v);
        const std::int64_t axis[] = {1};
        const std::vector<float> sums = floats(pm::reduce(pm::reduction::sum, w.decoded(), axis));
        float sum = 0;
        for (std::size_t c = 0; c < 64; ++c) sum += v[c];
        CHECK(sums[0] == doctest::Approx(sum).epsilon(1e-5));
    }
}

TEST_CASE("coded: scales and zero points for a tensor, an axis and blocks, as ONNX has them") {
    for (const pm::context& home : places())
        for (const pm::dtype weight : {pm::dtype::i4, pm::dtype::u4, pm::dtype::i8}) {
            CAPTURE(pm::to_string(weight));
            const std::int64_t k = 64, n = 24;
            any_tensor q = pm::astype(numbers({k, n}, 5, home) * 7.0, weight);
            pm::eval(q);
            const any_tensor x = numbers({9, k}, 6, home);
            const auto check = [&](const pm::shape& scales, std::int64_t axis, std::int64_t block,
                                   auto&& at) {
                any_tensor s = numbers(scales, 9, home) + 1.5,
                           z = pm::astype(numbers(scales, 4, home) * 3.0, weight);
                pm::eval(s, z);
                const any_tensor w = pm::dequantize_linear(q, s, z, axis, block);
                const std::vector<float> is = floats(w), codes = floats(q), sv = floats(s),
                                         zv = floats(z);
                int wrong = 0;
                for (std::int64_t r = 0; r < k; ++r)
                    for (std::int64_t c = 0; c < n; ++c) {
                        const auto i = static_cast<std::size_t>(r * n + c);
                        const auto j = static_cast<std::size_t>(at(r, c));
                        wrong += is[i] != (codes[i] - zv[j]) * sv[j];
                    }
                CHECK(wrong == 0);
                check_product(x, w, pm::matmul(x, pm::dequantize_linear(q, s, z, axis, block)));
            };
            check({}, 1, 0, [](auto, auto) { return 0; });
            check({n}, 1, 0, [](auto, auto c) { return c; });
            check({k}, 0, 0, [](auto r, auto) { return r; });
            check({k / 16, n}, 0, 16, [&](auto r, auto c) { return r / 16 * n + c; });
            check({k, n / 8}, 1, 8, [&](auto r, auto c) { return r * (n / 8) + c / 8; });
        }
}

TEST_CASE("coded: what does not fit is refused by name") {
    const pm::context home(pm::host_only{});
    const auto code_of = [](auto&& f) {
        try {
            f();
        } catch (const pm::error& e) {
            return e.code();
        }
        return pm::errc{};
    };
    const any_tensor blocks = pm::full(pm::dtype::u8, {36}, 0, home);
    CHECK(code_of([&] { pm::decode(pm::formats::q4_0(), blocks, {2, 33}); }) ==
          pm::errc::shape_mismatch);
    CHECK(code_of([&] { pm::decode(pm::formats::q4_0(), blocks, {96}); }) ==
          pm::errc::shape_mismatch);
    CHECK(code_of([&] {
              pm::decode(pm::formats::q4_0(), pm::astype(blocks, pm::dtype::i8), {64});
          }) == pm::errc::dtype_mismatch);
    CHECK(code_of([&] {
              pm::coded_tensor::from(pm::formats::repeated(pm::dtype::f16, 4),
                                     pm::full(pm::dtype::f32, {8}, 1, home));
          }) == pm::errc::unsupported);
    CHECK(code_of([&] { pm::formats::repeated(pm::dtype::i4, 0); }) == pm::errc::invalid_argument);
    CHECK(pm::formats::named("q4_0") == &pm::formats::q4_0());
    CHECK(pm::formats::named("Repeated<F16,32,2>") ==
          &pm::formats::repeated(pm::dtype::f16, 32, 2));
    CHECK(!pm::formats::named("Repeated<F16,32>"));
    CHECK(!pm::formats::named("q9"));
}

TEST_CASE("coded: a format lacks nothing, and two of one name are alike") {
    const auto code = [](const pm::storage_format& f) {
        return test::code_of([&] {
            pm::coded_tensor::from_bytes(f, {4}, std::vector<std::byte>(4), pm::context())
                .decoded();
        });
    };
    static constexpr auto decode = [](const pm::storage_format&, const std::byte* memory,
                                      std::int64_t at, std::int64_t step, void* out,
                                      std::int64_t n) {
        for (std::int64_t k = 0; k < n; ++k)
            static_cast<float*>(out)[k] = 2.0f * static_cast<float>(memory[at + k * step]);
    };
    static constexpr std::string_view twice = R"(
struct Scaled
{
    static float load<I : IIndex>(uint8_t* p, I i) { return 2 * float(p[i.toInt()]); }
    static void loadRun<I : IIndex, let W : int>(uint8_t* p, I i, out float v[W])
    {
        for (int k = 0; k < W; ++k) v[k] = load<I>(p, i + I(k));
    }
}
)",
                                      thrice = R"(
struct Scaled
{
    static float load<I : IIndex>(uint8_t* p, I i) { return 3 * float(p[i.toInt()]); }
    static void loadRun<I : IIndex, let W : int>(uint8_t* p, I i, out float v[W])
    {
        for (int k = 0; k < W; ++k) v[k] = load<I>(p, i + I(k));
    }
}
)";
    static constexpr pm::storage_format right{
        .name = "scaled", .slang = "Scaled", .text = twice, .decode = decode};
    CHECK_FALSE(code(right));
    for (const auto spoil : {+[](pm::storage_format& f) { f.elements = 0; },
                             +[](pm::storage_format& f) { f.bytes = -1; },
                             +[](pm::storage_format& f) { f.decode = nullptr; },
                             +[](pm::storage_format& f) { f.slang = {}; },
                             +[](pm::storage_format& f) { f.name = {}; }}) {
        pm::storage_format f = right;
        spoil(f);
        CHECK(code(f) == pm::errc::invalid_argument);
    }
    const pm::context home;
    if (home.device().type == pm::device_type::host) return;  // which decodes by the functions
    static constexpr pm::storage_format other{
        .name = "scaled", .slang = "Scaled", .text = thrice, .decode = decode};
    const std::vector<std::byte> bytes(4, std::byte{1});
    const auto x = pm::coded_tensor::from_bytes(right, {4}, bytes, home),
               y = pm::coded_tensor::from_bytes(other, {4}, bytes, home);
    CHECK(test::code_of([&] { floats(x.decoded() + y.decoded()); }) == pm::errc::invalid_argument);
}
