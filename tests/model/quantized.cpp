// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Quantised weights of a file: they stay as they are on the device, and products decode them as
// they load. What is quantised in the file itself goes up so.
#include <pumice/front.hpp>
#include <pumice/model.hpp>

#include <tests/model/support.hpp>

#include <algorithm>
#include <cmath>

using namespace pumice_test;
namespace pm = pumice;
using pm::any_tensor;
using pm::dtype;
using pm::memory_role;
using pm::model;

namespace {

/// How scales lie over a weight of shape {k, n}.
enum class scaling { whole, rows, columns, blocks };

/// A weight of {k, n} codes in the file's type, with scales and zero points.
struct coded_weight {
    std::int64_t code;  // ONNX's number of the type
    dtype type;
    scaling how;
    std::int64_t k, n, block = 32;

    /// The least value, and how many there are.
    std::pair<int, int> range() const {
        switch (type) {
            case dtype::i4: return {-8, 16};
            case dtype::u4: return {0, 16};
            case dtype::i8: return {-128, 256};
            default: return {0, 256};
        }
    }
    bool real() const { return pm::is_floating(type); }
    /// The bits of element i, and what they stand for.
    int bits(std::int64_t i) const {
        const auto [least, count] = range();
        if (real()) return int((i * 7 + i / 13) % 120) | (i % 3 == 0 ? 128 : 0);
        return (least + int((i * 7 + i / 13) % count)) & (count - 1);
    }
    double value(std::int64_t i) const {
        const int b = bits(i);
        if (real()) {
            const std::uint8_t byte(static_cast<std::uint8_t>(b));
            return pm::values_of<double>(type, std::as_bytes(std::span(&byte, 1)), 1)[0];
        }
        const auto [least, count] = range();
        return least < 0 && b >= count / 2 ? b - count : b;
    }
    std::string bytes() const {
        std::string text(static_cast<std::size_t>(pm::byte_count(type, k * n)), '\0');
        for (std::int64_t i = 0; i < k * n; ++i) {
            const int width = pm::info(type).bits;
            const auto at = static_cast<std::size_t>(i * width / 8);
            const int there = static_cast<unsigned char>(text[at]);
            text[at] = static_cast<char>(there | bits(i) << (i * width % 8));
        }
        return text;
    }
    std::vector<std::int64_t> scale_dims() const {
        switch (how) {
            case scaling::whole: return {};
            case scaling::rows: return {k};
            case scaling::columns: return {n};
            default: return {(k + block - 1) / block, n};
        }
    }
    std::int64_t scale_of(std::int64_t row, std::int64_t column) const {
        switch (how) {
            case scaling::whole: return 0;
            case scaling::rows: return row;
            case scaling::columns: return column;
            default: return row / block * n + column;
        }
    }
    std::int64_t scales() const {
        std::int64_t count = 1;
        for (const std::int64_t d : scale_dims()) count *= d;
        return count;
    }
    float scale(std::int64_t i) const { return float(i % 5 + 1) / 64; }
    int zero(std::int64_t i) const {
        return real() ? 0 : range().first < 0 ? int(i % 3) - 1 : 3 + int(i % 3);
    }
    double real_value(std::int64_t row, std::int64_t column) const {
        const std::int64_t s = scale_of(row, column);
        return (value(row * n + column) - zero(s)) * double(scale(s));
    }
    /// Its initializers and the node that gives "f".
    void put_into(message& graph) const {
        std::vector<float> s;
        std::string z(static_cast<std::size_t>(pm::byte_count(type, scales())), '\0');
        for (std::int64_t i = 0; i < scales(); ++i) {
            s.push_back(scale(i));
            const int width = pm::info(type).bits, mask = (1 << width) - 1;
            auto& to = z[static_cast<std::size_t>(i * width / 8)];
            to = static_cast<char>(static_cast<unsigned char>(to) | (zero(i) & mask)
                                                                        << (i * width % 8));
        }
        graph.put(5, tensor_of("w", code, {k, n}).text(9, bytes()))
            .put(5, floats("s", scale_dims(), s))
            .put(5, tensor_of("z", code, scale_dims()).text(9, z));
        std::vector<message> attributes{
            attribute("axis", how == scaling::columns ? std::int64_t(1) : 0)};
        if (how == scaling::blocks) attributes.push_back(attribute("block_size", block));
        graph.put(1, node_of("DequantizeLinear", {"w", "s", "z"}, {"f"}, attributes));
    }
};

model loaded(const message& graph, const pm::context& home, const pm::load_options& how = {}) {
    const message whole = model_of(graph, 21);
    const auto bytes = whole.view();
    return model::from_bytes(bytes, home, how);
}
/// Whether weights take so many bytes of memory: of a device in pieces of 256, of the host's not
/// counted below 128 KiB, which they would be above if they were decoded.
bool holds(const pm::context& c, std::int64_t bytes) {
    const auto held = static_cast<std::int64_t>(c.stats().memory[memory_role::weights]);
    if (c.device().type == pm::device_type::host) return held < 128 << 10;
    return held >= bytes && held < bytes + 256;
}

any_tensor rows_of_numbers(std::int64_t m, std::int64_t k, const pm::context& home) {
    std::vector<float> v(static_cast<std::size_t>(m * k));
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = float(int(i * 5 % 17) - 8) / 8;
    return pm::from_bytes(dtype::f32, {m, k}, std::as_bytes(std::span(v)), home);
}

/// Whether y is x times the weight, within the bound of sums of k products.
bool is_product(const any_tensor& x, const coded_weight& w, const any_tensor& y,
                double rounding = 1.2e-7) {
    const std::vector<float> xs = pm::to_vector<float>(x),
                             ys = pm::to_vector<float>(pm::astype(y, dtype::f32));
    const std::int64_t m = x.shape()[0];
    for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < w.n; ++j) {
            double sum = 0, all = 0;
            for (std::int64_t k = 0; k < w.k; ++k) {
                const double v =
                    double(xs[static_cast<std::size_t>(i * w.k + k)]) * w.real_value(k, j);
                sum += v;
                all += std::fabs(v);
            }
            const double bound = 4 * rounding * std::log2(double(w.k) + 1) * all + 1e-6;
            if (std::fabs(double(ys[static_cast<std::size_t>(i * w.n + j)]) - sum) > bound)
                return false;
        }
    return true;
}

}  // namespace

TEST_CASE(
    "quantized: a product's weight stays packed where it is held, and gives what it stands for") {
    constexpr std::pair<std::int64_t, dtype> types[] = {
        {3, dtype::i8}, {2, dtype::u8}, {22, dtype::i4}, {21, dtype::u4}, {17, dtype::f8_e4m3}};
    for (const auto& [code, type] : types)
        for (const scaling how :
             {scaling::whole, scaling::rows, scaling::columns, scaling::blocks}) {
            const pm::context home;
            const coded_weight w{code, type, how, 301, 259};  // no multiple of anything
            message graph;
            w.put_into(graph);
            graph.put(1, node_of("MatMul", {"x", "f"}, {"y"}))
                .put(11, value_of("x", 1, {-1, w.k}))
                .put(12, value_of("y", 1, {-1, w.n}));
            const model m = loaded(graph, home);
            const std::int64_t packed = pm::byte_count(type, w.k * w.n);
            CAPTURE(pm::to_string(type));
            CAPTURE(int(how));
            CHECK(holds(home, packed));
            for (const std::int64_t rows : {1, 3}) {
                const any_tensor x = rows_of_numbers(rows, w.k, home);
                CHECK(is_product(x, w, m(x)));
            }
            CHECK(holds(home, packed));
            // Nothing that was computed is kept either.
            CHECK(home.stats().memory[memory_role::outputs] < std::uint64_t(packed));
        }
}

TEST_CASE("quantized: Gemm, a turned weight, and a weight that something else reads too") {
    const pm::context home;
    const coded_weight w{22, dtype::i4, scaling::blocks, 288, 260};
    const auto load = [&](bool read_otherwise) {
        message graph;
        w.put_into(graph);
        graph.put(1, node_of("Transpose", {"f"}, {"t"}, {attribute("perm", {std::int64_t(1), 0})}))
            .put(1, node_of("Gemm", {"x", "t"}, {"y"}, {attribute("transB", std::int64_t(1))}))
            .put(11, value_of("x", 1, {2, w.k}))
            .put(12, value_of("y", 1, {2, w.n}));
        if (read_otherwise)
            graph
                .put(1,
                     node_of("ReduceSum", {"f"}, {"r"}, {attribute("keepdims", std::int64_t(0))}))
                .put(12, value_of("r", 1, {}));
        return loaded(graph, home);
    };
    const any_tensor x = rows_of_numbers(2, w.k, home);
    const std::int64_t packed = pm::byte_count(w.type, w.k * w.n);
    {
        const model m = load(false);
        CHECK(holds(home, packed));
        CHECK(is_product(x, w, m(x)));
        const pm::executable e = m.compile();
        CHECK(is_product(x, w, e.run({x})[0]));
        std::int64_t held = 0;
        for (const any_tensor& c : e.constants()) held = std::max(held, c.size_bytes());
        CHECK(held == packed);
    }
    const model m = load(true);
    const std::vector<any_tensor> both = m.run({x});
    CHECK(is_product(x, w, both[0]));
    double sum = 0;
    for (std::int64_t i = 0; i < w.k; ++i)
        for (std::int64_t j = 0; j < w.n; ++j) sum += w.real_value(i, j);
    CHECK(pm::to_vector<float>(both[1])[0] == doctest::Approx(sum).epsilon(1e-4));
}

TEST_CASE("quantized: a model that computes in f16 decodes to it, in cooperative matrices too") {
    const pm::context home;
    for (const auto& [code, type] :
         {std::pair<std::int64_t, dtype>{22, dtype::i4}, {3, dtype::i8}, {17, dtype::f8_e4m3}}) {
        const coded_weight w{code, type, scaling::blocks, 304, 264};
        message graph;
        w.put_into(graph);
        graph.put(1, node_of("MatMul", {"x", "f"}, {"y"}))
            .put(11, value_of("x", 1, {-1, w.k}))
            .put(12, value_of("y", 1, {-1, w.n}));
        const model m = loaded(graph, home, pm::load_options{.compute = dtype::f16});
        CHECK(holds(home, pm::byte_count(type, w.k * w.n)));
        for (const std::int64_t rows : {1, 33}) {
            const any_tensor x = rows_of_numbers(rows, w.k, home);
            CHECK_MESSAGE(is_product(x, w, m(x), 4.9e-4), pm::to_string(type));
        }
    }
}

TEST_CASE(
    "quantized: a weight that the file quantises goes to the device in the type that it gives") {
    const pm::context home;
    constexpr std::int64_t k = 300, n = 257;
    std::vector<float> v(k * n), s(n);
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = float(int(i * 31 % 401) - 200) / 100;
    for (std::size_t i = 0; i < s.size(); ++i) s[i] = float(i % 4 + 1) / 64;
    const std::string zeros(n, '\0');
    message graph;
    graph.put(5, floats("w", {k, n}, v))
        .put(5, floats("s", {n}, s))
        .put(5, tensor_of("z", 3, {n}).text(9, zeros))
        .put(1, node_of("QuantizeLinear", {"w", "s", "z"}, {"q"}))
        .put(1, node_of("DequantizeLinear", {"q", "s", "z"}, {"f"}))
        .put(1, node_of("MatMul", {"x", "f"}, {"y"}))
        .put(11, value_of("x", 1, {1, k}))
        .put(12, value_of("y", 1, {1, n}));
    const model m = loaded(graph, home);
    CHECK(holds(home, k * n));
    const any_tensor x = rows_of_numbers(1, k, home);
    const std::vector<float> xs = pm::to_vector<float>(x), y = pm::to_vector<float>(m(x));
    for (std::size_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::size_t i = 0; i < k; ++i) {
            const double q = std::clamp(std::nearbyint(v[i * n + j] / s[j]), -128.0f, 127.0f);
            sum += double(xs[i]) * q * double(s[j]);
        }
        REQUIRE(y[j] == doctest::Approx(sum).epsilon(1e-4));
    }
}

TEST_CASE("quantized: QuantizeLinear in a run, of every type, rounds to even and saturates") {
    const pm::context home;
    const std::vector<float> v{-1000, -2.5f, -1.5f, -0.5f, 0, 0.5f, 1.5f, 2.5f, 3.49f, 1000};
    const std::pair<std::int64_t, std::vector<float>> cases[] = {
        {2, {0, 1, 1, 3, 3, 3, 5, 5, 6, 255}},      // u8, zero point 3
        {3, {-128, 1, 1, 3, 3, 3, 5, 5, 6, 127}},   // i8
        {4, {0, 1, 1, 3, 3, 3, 5, 5, 6, 1003}},     // u16
        {5, {-997, 1, 1, 3, 3, 3, 5, 5, 6, 1003}},  // i16
        {21, {0, 1, 1, 3, 3, 3, 5, 5, 6, 15}},      // u4
        {22, {-8, 1, 1, 3, 3, 3, 5, 5, 6, 7}}};     // i4
    for (const auto& [code, want] : cases) {
        message graph;
        graph.put(5, floats("s", {}, {1}))
            .put(5, tensor_of("z", code, {}).numbers(5, {3}))
            .put(1, node_of("QuantizeLinear", {"x", "s", "z"}, {"q"}))
            .put(1, node_of("Cast", {"q"}, {"y"}, {attribute("to", std::int64_t(1))}))
            .put(11, value_of("x", 1, {10}))
            .put(12, value_of("y", 1, {10}));
        const model m = loaded(graph, home);
        const any_tensor x = pm::from_bytes(dtype::f32, {10}, std::as_bytes(std::span(v)), home);
        CHECK_MESSAGE(pm::to_vector<float>(m(x)) == want, "type " << code);
    }
    // Floats of 8 bits: to the greatest finite value, or beyond.
    for (const std::int64_t saturates : {1, 0}) {
        message g;
        g.put(5, floats("s", {}, {1}))
            .put(5, tensor_of("z", 17, {}).numbers(5, {0}))
            .put(1, node_of("QuantizeLinear", {"x", "s", "z"}, {"q"},
                            {attribute("saturate", saturates)}))
            .put(1, node_of("Cast", {"q"}, {"y"}, {attribute("to", std::int64_t(1))}))
            .put(11, value_of("x", 1, {10}))
            .put(12, value_of("y", 1, {10}));
        const model m = loaded(g, home);
        const any_tensor x = pm::from_bytes(dtype::f32, {10}, std::as_bytes(std::span(v)), home);
        const std::vector<float> y = pm::to_vector<float>(m(x));
        CHECK(y[8] == 3.5f);
        if (saturates) CHECK(y[9] == 448);
        else CHECK(std::isnan(y[9]));
    }
}

TEST_CASE("quantized: a convolution of integers wraps once, in their type") {
    const pm::context home;
    const std::vector<std::int8_t> image{100, -100, 50, 127}, weight{2, 3};
    const any_tensor x = pm::from_bytes(dtype::i8, {1, 1, 2, 2}, std::as_bytes(std::span(image)),
                                        home),
                     w = pm::from_bytes(dtype::i8, {2, 1, 1, 1}, std::as_bytes(std::span(weight)),
                                        home);
    const std::vector<std::int8_t> want{-56, 56, 100, -2, 44, -44, -106, 125};
    CHECK(pm::to_vector<std::int8_t>(pm::conv(x, w)) == want);
    const any_tensor wide = pm::conv(pm::astype(x, dtype::i32), pm::astype(w, dtype::i32));
    CHECK(pm::to_vector<std::int32_t>(wide) ==
          std::vector<std::int32_t>{200, -200, 100, 254, 300, -300, 150, 381});
}

TEST_CASE("quantized: products of integers name what does not fit") {
    const pm::context home;
    const auto refused = [&](const char* op, std::initializer_list<const char*> inputs,
                             const message& graph) {
        message g = graph;
        g.put(1, node_of(op, {inputs.begin(), inputs.end()}, {"y"})).put(12, value_of("y", 6, {}));
        try {
            loaded(g, home);
        } catch (const pm::error& e) {
            return std::string(e.what());
        }
        return std::string("taken");
    };
    const auto with = [](std::int64_t left, std::int64_t right) {
        message g;
        g.put(11, value_of("a", left, {2, 3})).put(11, value_of("b", right, {3, 4}));
        return g;
    };
    const auto zeros = [](std::int64_t code, std::vector<std::int64_t> extent,
                          std::vector<std::int64_t> values) {
        return tensor_of("z", code, extent).numbers(5, values);
    };
    CHECK(contains(refused("MatMulInteger", {"a", "b"}, with(1, 3)),
                   "takes i8 or u8 as input 0, not f32"));
    CHECK(contains(refused("MatMulInteger", {"a", "b", "z"}, with(2, 3).put(5, zeros(3, {}, {1}))),
                   "has a zero point of i8 for u8"));
    CHECK(contains(refused("MatMulInteger", {"a", "b", "", "z"},
                           with(2, 3).put(5, zeros(3, {3}, {1, 2, 3}))),
                   "of shape (3,) for 4 rows, columns or channels"));
    message conv;
    conv.put(11, value_of("a", 2, {1, 3, 4, 4})).put(11, value_of("b", 2, {2, 3, 2, 2}));
    CHECK(contains(refused("ConvInteger", {"a", "b", "z"},
                           message(conv).put(5, zeros(2, {2}, {1, 2}))),
                   "of shape (2,) where it takes one number"));
    // All of them fit but the declared output.
    CHECK(contains(refused("ConvInteger", {"a", "b"}, conv), "i32 () and is (1, 2, 3, 3)"));
    CHECK(contains(refused("MatMulInteger", {"a", "b"}, with(2, 3)), "i32 () and is (2, 4)"));
}
