// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Wrong calls at run time: each throws pumice::error when it is made, names the op, and says which
// shapes, types or numbers do not go together. What the compiler refuses is in tests/fail.
#include <pumice/front.hpp>
#include <pumice/tensor/array_creation.hpp>

#include <tests/graph/support.hpp>

#include <doctest/doctest.h>

#include <initializer_list>
#include <limits>

namespace pm = pumice;
using pm::any_tensor;
using pm::dtype;
using pm::errc;
using pm::shape;

namespace {

const pm::context home(pumice_test::host());
constexpr std::int64_t huge = std::int64_t{1} << 40;
constexpr int big = std::numeric_limits<int>::max();

any_tensor of(const shape& s, dtype t = dtype::f32) { return pm::zeros(t, s, home); }
/// Costs no memory, so it may be as large as 63 bits count.
any_tensor lazy(const shape& s, dtype t = dtype::f32) { return pm::full(t, s, 1, home); }
pm::matrix<float> matrix(std::int64_t rows, std::int64_t columns) {
    return pm::matrix<float>(of({rows, columns}));
}

/// f throws `code` at `place`, and its text has each of the words.
template <class F>
void fails(errc code, std::string_view place, std::initializer_list<std::string_view> words,
           F&& f) {
    CAPTURE(place);
    const pm::error e = test::thrown_by(f);
    const std::string text = e.what();
    CHECK_MESSAGE(e.code() == code, pm::to_string(e.code()) << ": " << text);
    CHECK_MESSAGE(e.where() == place, text);
    for (const std::string_view word : words)
        CHECK_MESSAGE(text.find(word) != std::string::npos, "no \"" << word << "\" in " << text);
}

}  // namespace

TEST_CASE("errors: shapes that do not go together") {
    const auto a = matrix(4, 6), b = matrix(5, 6);
    fails(errc::shape_mismatch, "add", {"(4, 6) and (5, 6)", "axis 0: 4 against 5"},
          [&] { pm::matrix<float> c = a + b; });
    fails(errc::shape_mismatch, "where", {"(4, 6)", "(5, 6)"},
          [&] { pm::matrix<float> c = pm::where(a < a, a, b); });
    fails(errc::shape_mismatch, "matmul", {"(4, 6) and (5, 6)", "6 columns against 5 rows"},
          [&] { pm::matmul(a, b); });
    fails(errc::shape_mismatch, "matmul", {"(2, 1, 1)", "(3, 1, 1)"},
          [&] { pm::matmul(of({2, 1, 1}), of({3, 1, 1})); });
    fails(errc::rank_mismatch, "matmul", {"() and (2, 2)", "scalar"},
          [&] { pm::matmul(of({}), of({2, 2})); });
    fails(errc::shape_mismatch, "concat", {"(4, 6) and (5, 6)", "axis 1"},
          [&] { pm::concat(pm::axis<1>, a, b); });
    const any_tensor ranks[] = {a, of({6})};
    fails(errc::shape_mismatch, "concat", {"(4, 6) and (6,)"},
          [&] { pm::concat(std::span<const any_tensor>(ranks)); });
    fails(errc::invalid_argument, "concat", {"at least one"},
          [&] { pm::concat(std::span<const any_tensor>{}); });
    fails(errc::shape_mismatch, "broadcast_to", {"(4, 6)", "(6, 4)"},
          [&] { pm::broadcast_to(any_tensor(a), {6, 4}); });
    fails(errc::shape_mismatch, "broadcast_to", {"(4, 6)", "(6,)"},
          [&] { pm::broadcast_to(any_tensor(a), {6}); });
    fails(errc::shape_mismatch, "squeeze", {"axis 0", "(4, 6)", "length 1"},
          [&] { pm::squeeze(any_tensor(a), 0); });
}

TEST_CASE("errors: reshape") {
    const any_tensor x = of({4, 6});
    fails(errc::shape_mismatch, "reshape", {"(4, 6)", "24 elements", "(5, 5)"},
          [&] { pm::reshape(x, {5, 5}); });
    fails(errc::shape_mismatch, "reshape", {"24 elements", "(5, -1)"},
          [&] { pm::reshape(x, {5, -1}); });
    fails(errc::shape_mismatch, "reshape", {"24 elements", "(0, -1)"},
          [&] { pm::reshape(x, {0, -1}); });
    fails(errc::invalid_argument, "reshape", {"more than one", "-1"},
          [&] { pm::reshape(x, {-1, -1}); });
    fails(errc::invalid_argument, "reshape", {"-3", "negative"}, [&] { pm::reshape(x, {-3, -8}); });
    fails(errc::size_overflow, "reshape", {"1099511627776"}, [&] { pm::reshape(x, {huge, huge}); });
}

TEST_CASE("errors: convolutions") {
    const any_tensor x = of({1, 4, 8, 8}), w = of({6, 4, 3, 3});
    pm::conv_op o;
    const auto wrong = [&](auto change) {
        pm::conv_op changed;
        change(changed);
        return [&x, &w, changed] { pm::conv(x, w, changed); };
    };
    fails(errc::rank_mismatch, "conv", {"(4, 8, 8)", "(6, 4, 3, 3)", "rank 4"},
          [&] { pm::conv(of({4, 8, 8}), w); });
    fails(errc::dtype_mismatch, "conv", {"f32, f16"},
          [&] { pm::conv(x, of({6, 4, 3, 3}, dtype::f16)); });
    fails(errc::dtype_mismatch, "conv", {"bool, bool", "of numbers"},
          [&] { pm::conv(of({1, 4, 8, 8}, dtype::boolean), of({6, 4, 3, 3}, dtype::boolean)); });
    fails(errc::shape_mismatch, "conv", {"4 channels", "(6, 3, 3, 3)", "takes 3"},
          [&] { pm::conv(x, of({6, 3, 3, 3})); });
    fails(errc::shape_mismatch, "conv", {"a window of 9", "length of 8"},
          [&] { pm::conv(x, of({6, 4, 9, 1})); });
    fails(errc::invalid_argument, "conv", {"group 4", "6 output channels"},
          wrong([](pm::conv_op& c) { c.group = 4; }));
    fails(errc::invalid_argument, "conv", {"group 0"}, wrong([](pm::conv_op& c) { c.group = 0; }));
    fails(errc::invalid_argument, "conv", {"stride 0", "positive"},
          wrong([](pm::conv_op& c) { c.stride[1] = 0; }));
    fails(errc::invalid_argument, "conv", {"dilation -1", "positive"},
          wrong([](pm::conv_op& c) { c.dilation[0] = -1; }));
    fails(errc::invalid_argument, "conv", {"pads -1 and 0", "negative"},
          wrong([](pm::conv_op& c) { c.pad_begin[0] = -1; }));
    fails(errc::invalid_argument, "conv", {"window 0", "positive"},
          [&] { pm::conv(x, of({6, 4, 3, 0})); });
    // Sums and products of these pass 32 bits.
    fails(errc::shape_mismatch, "conv", {"a window of 4294967295", "length of 8"},
          wrong([](pm::conv_op& c) { c.dilation[1] = big; }));
    fails(errc::size_overflow, "conv", {"4294967302", "2^31"},
          wrong([](pm::conv_op& c) { c.pad_begin[0] = c.pad_end[0] = big; }));
    fails(errc::size_overflow, "conv", {"8589934591 x 2147483647"}, [] {
        pm::conv_op c;
        c.dilation[0] = big;
        pm::conv(lazy({1, 0, 8, 8}), lazy({1, 0, std::int64_t{1} << 33, 1}), c);
    });
    CHECK(pm::conv(x, w, o).shape() == shape{1, 6, 6, 6});
}

TEST_CASE("errors: pools") {
    const any_tensor x = of({1, 4, 8, 8});
    const auto wrong = [&](auto change) {
        pm::pool_op changed;
        changed.window[0] = changed.window[1] = 2;
        change(changed);
        return [&x, changed] { pm::pool(x, changed); };
    };
    fails(errc::rank_mismatch, "max_pool", {"(8, 8)", "rank 4"}, [&] { pm::pool(of({8, 8}), {}); });
    fails(errc::dtype_mismatch, "average_pool", {"i32"}, [&] {
        pm::pool_op p;
        p.what = pm::pooling::average;
        pm::pool(of({1, 1, 2, 2}, dtype::i32), p);
    });
    fails(errc::invalid_argument, "max_pool", {"stride 0", "positive"},
          wrong([](pm::pool_op& p) { p.stride[0] = 0; }));
    fails(errc::invalid_argument, "max_pool", {"window 0", "positive"},
          wrong([](pm::pool_op& p) { p.window[0] = 0; }));
    fails(errc::invalid_argument, "max_pool", {"pads 2 and 0", "window of 2"},
          wrong([](pm::pool_op& p) { p.pad_begin[1] = 2; }));
    fails(errc::shape_mismatch, "max_pool", {"a window of 9", "length of 8"},
          wrong([](pm::pool_op& p) { p.window[1] = 9; }));
    fails(errc::shape_mismatch, "max_pool", {"a window of 4611686011984936963", "length of 8"},
          wrong([](pm::pool_op& p) { p.window[0] = p.dilation[0] = big; }));
    fails(errc::size_overflow, "max_pool", {"4294967302", "2^31"}, wrong([](pm::pool_op& p) {
              p.window[0] = big;
              p.pad_begin[0] = p.pad_end[0] = big;
          }));
}

TEST_CASE("errors: axes, slices and permutations") {
    const any_tensor x = of({4, 6});
    const auto axes = [](std::initializer_list<std::int64_t> list) {
        return std::vector<std::int64_t>(list);
    };
    fails(errc::axis_out_of_range, "sum", {"axis 2", "rank 2"}, [&] { pm::sum(x, axes({2})); });
    fails(errc::axis_out_of_range, "softmax", {"axis -3", "rank 2"}, [&] { pm::softmax(x, -3); });
    fails(errc::axis_out_of_range, "concat", {"axis 5", "rank 2"}, [&] {
        const any_tensor both[] = {x, x};
        pm::concat(both, 5);
    });
    fails(errc::axis_out_of_range, "take", {"axis 2", "rank 2"},
          [&] { pm::take(x, of({3}, dtype::i64), 2); });
    fails(errc::axis_out_of_range, "expand_dims", {"axis 4", "rank 3"},
          [&] { pm::expand_dims(x, 4); });
    fails(errc::axis_out_of_range, "flip", {"axis 2", "rank 2"}, [&] { pm::flip(x, axes({2})); });
    fails(errc::invalid_argument, "sum", {"axis -1", "twice"}, [&] { pm::sum(x, axes({1, -1})); });
    fails(errc::invalid_argument, "permute_dims", {"axis 1", "twice"},
          [&] { pm::permute_dims(x, axes({1, 1})); });
    fails(errc::rank_mismatch, "permute_dims", {"3 axes", "rank 2"},
          [&] { pm::permute_dims(x, axes({0, 1, 2})); });
    fails(errc::invalid_argument, "slice", {"step", "axis 1", "0"},
          [&] { pm::view(pm::matrix<float>(x), pm::slice{}, pm::slice{0, 1, 0}); });
    fails(errc::rank_mismatch, "index", {"3 indices", "2 axes"},
          [&] { pm::view(x, pm::slice{}, pm::slice{}, pm::slice{}); });
    fails(errc::index_out_of_range, "index", {"index 6", "axis 1", "(4, 6)"},
          [&] { pm::view(pm::matrix<float>(x), 0, 6); });
    const std::size_t none = 0;  // which one less makes more than any index
    fails(errc::index_out_of_range, "index", {"axis 0", "(4, 6)"},
          [&] { pm::view(pm::matrix<float>(x), none - 1, 0); });
    fails(errc::shape_mismatch, "masked_select", {"(2,)", "(4, 6)"},
          [&] { x[of({2}, dtype::boolean)]; });
    fails(errc::rank_mismatch, "index", {"1 indices", "2 axes"},
          [&] { pm::select(x, std::vector<pm::any_operand>{0}); });
    fails(errc::index_out_of_range, "take", {"axis 0", "(0, 6)", "no elements"},
          [&] { pm::take(of({0, 6}), of({3}, dtype::i32)); });
}

TEST_CASE("errors: reductions of nothing, and of several axes where one is meant") {
    const auto none = matrix(0, 6);
    fails(errc::invalid_argument, "max", {"no elements", "(0, 6)"}, [&] { pm::max(none); });
    fails(errc::invalid_argument, "argmin", {"no elements", "(0, 6)"},
          [&] { pm::argmin(none, pm::axis<0>); });
    fails(errc::invalid_argument, "argmax", {"one axis"}, [&] {
        const std::int64_t both[] = {0, 1};
        pm::argmax(any_tensor(matrix(4, 6)), both);
    });
    fails(errc::axis_out_of_range, "reduce by hypot", {"axis 3", "rank 2"},
          [&] { pm::hypot.reduce(any_tensor(matrix(4, 6)), 3); });
    fails(errc::dtype_mismatch, "reduce by hypot", {"i32", "takes this type"},
          [&] { pm::hypot.reduce(of({4}, dtype::i32)); });
    CHECK(pm::sum(none).item() == 0);
    CHECK(pm::max(none, pm::axis<1>).shape() == shape{0});
}

TEST_CASE("errors: element types") {
    const any_tensor f = of({3}), i = of({3}, dtype::i32), b = of({3}, dtype::boolean);
    fails(errc::dtype_mismatch, "add", {"f32, i32", "astype"}, [&] { pm::add(f, i); });
    fails(errc::dtype_mismatch, "add", {"bool", "not defined"}, [&] { pm::add(b, b); });
    fails(errc::dtype_mismatch, "where", {"f32", "condition must be bool"},
          [&] { pm::where(f, f, f); });
    fails(errc::dtype_mismatch, "multiply", {"0.5", "not an integer"},
          [&] { pm::multiply(i, 0.5); });
    fails(errc::dtype_mismatch, "sin", {"i32"}, [&] { pm::sin(i); });
    fails(errc::dtype_mismatch, "softmax", {"i32", "floating"}, [&] { pm::softmax(i); });
    fails(errc::dtype_mismatch, "matmul", {"f32, i32", "astype"}, [&] { pm::matmul(f, i); });
    fails(errc::dtype_mismatch, "mean", {"i32", "astype"}, [&] { pm::mean(i); });
    fails(errc::dtype_mismatch, "any", {"f32", "bool"}, [&] { pm::reduce(pm::reduction::any, f); });
    fails(errc::dtype_mismatch, "sum", {"bool", "astype"}, [&] { pm::sum(b); });
    fails(errc::dtype_mismatch, "take", {"f32", "i32 or i64"}, [&] { pm::take(f, f); });
    fails(errc::dtype_mismatch, "concat", {"f32, i32", "astype"}, [&] {
        const any_tensor both[] = {f, i};
        pm::concat(both);
    });
    fails(errc::dtype_mismatch, "tensor", {"f32", "i32"},
          [&] { f.as<pm::vector<std::int32_t>>(); });
    fails(errc::dtype_mismatch, "to_vector", {"f32", "f64"}, [&] { pm::to_vector<double>(f); });
    fails(errc::shape_mismatch, "tensor", {"(3,)", "rank 2"}, [&] { f.as<pm::matrix<float>>(); });
    fails(errc::shape_mismatch, "tensor", {"(3,)", "(4,)"},
          [&] { f.as<pm::tensor<float, pm::extents<4>>>(); });
}

TEST_CASE("errors: numbers that an integer type does not hold") {
    const auto bytes = pm::full<std::uint8_t>({3}, 7, home);
    const pm::vector<std::uint8_t> u8(bytes);
    const pm::vector<std::int32_t> i32(of({3}, dtype::i32));
    const pm::vector<std::uint64_t> u64(of({3}, dtype::u64));
    const pm::vector<std::int64_t> i64(of({3}, dtype::i64));
    const auto refused = [](std::string_view place, std::initializer_list<std::string_view> words,
                            auto f) { fails(errc::dtype_mismatch, place, words, f); };
    refused("number", {"256", "u8", "0 to 255", "astype"}, [&] { static_cast<void>(u8 >= 256); });
    refused("number", {"-1", "u8"}, [&] { static_cast<void>(u8 > -1); });
    refused("number", {"1000", "u8"}, [&] { pm::clip(u8, 0, 1000); });
    refused("number", {"3000000000", "i32", "-2147483648 to 2147483647"},
            [&] { static_cast<void>(i32 < 3000000000); });
    refused("number", {"-1", "u64", "18446744073709551615"}, [&] { static_cast<void>(u64 + -1); });
    refused("number", {"9223372036854775808", "i64"},
            [&] { static_cast<void>(i64 + (std::uint64_t{1} << 63)); });
    refused("number", {"300", "u8"}, [&] {
        pm::vector<std::uint8_t> x = u8;
        x *= 300;
    });
    refused("number", {"300", "u8"}, [&] {
        pm::vector<std::uint8_t> x = u8;
        pm::at(x, 0) = 300;
    });
    const any_tensor at_run_time = u8;
    refused("equal", {"257", "u8"}, [&] { static_cast<void>(at_run_time == 257); });
    refused("add", {"inf", "u8"},
            [&] { pm::add(at_run_time, std::numeric_limits<double>::infinity()); });
    refused("add", {"not an integer"},
            [&] { pm::add(at_run_time, std::numeric_limits<double>::quiet_NaN()); });
    refused("add", {"does not fit u64"},
            [&] { pm::add(u64, any_tensor(u64)), pm::add(any_tensor(u64), 0x1p64); });
    refused("add", {"does not fit i64"}, [&] { pm::add(any_tensor(i64), -0x1.0000000000001p63); });
    refused("number", {"300", "u8"}, [&] { pm::full_like(u8, 300); });
    refused("arange", {"bool"}, [] { pm::arange(dtype::boolean, 0, 2, 1, home); });
    refused("full", {"300", "u8"}, [] { pm::full(dtype::u8, {2}, 300, home); });
    refused("full", {"1.7", "not an integer"}, [] { pm::full(dtype::i32, {2}, 1.7, home); });
    refused("arange", {"259", "u8"}, [] { pm::arange<std::uint8_t>(250, 260, 1, home); });
    refused("arange", {"0.5", "not an integer"}, [] { pm::arange<int>(0, 5, 0.5, home); });

    // What they hold they take: the ends, whole numbers of floating point, and any number as a
    // bool.
    CHECK(pm::all(u8 <= 255).item());
    CHECK(pm::all(u8 >= 0).item());
    CHECK(pm::all(i32 > -2147483648LL).item());
    CHECK(pm::all(u64 < 18446744073709551615ULL).item());
    CHECK(pm::to_vector<std::uint8_t>(pm::add(at_run_time, 3.0)) ==
          std::vector<std::uint8_t>{10, 10, 10});
    CHECK(pm::to_vector<std::int8_t>(pm::full(dtype::i8, {1}, -128, home))[0] == -128);
    CHECK(pm::to_vector<bool>(pm::full(dtype::boolean, {1}, 0.5, home))[0]);
    CHECK(pm::all(pm::isinf(pm::vector<float>(of({3})) + 1e300)).item());
}

TEST_CASE("errors: what was moved from") {
    const pm::vector<float> v(of({3}));
    auto whole = v + 1.0f;
    const auto taken = std::move(whole);
    // NOLINTBEGIN(bugprone-use-after-move): they are what is tested
    fails(errc::invalid_argument, "expression", {"moved from"}, [&] { pm::eval(whole); });
    fails(errc::invalid_argument, "expression", {"moved from"},
          [&] { (whole * 2.0f).to_vector(); });
    fails(errc::invalid_argument, "expression", {"moved from"},
          [&] { pm::vector<float> y = v + std::move(whole); });
    pm::context here(pumice_test::host());
    const pm::context there = std::move(here);
    fails(errc::invalid_argument, "context", {"moved from"}, [&] { pm::ones<float>({2}, here); });
    fails(errc::invalid_argument, "context", {"moved from"}, [&] { here.device(); });
    fails(errc::invalid_argument, "context", {"moved from"}, [&] { here.stats(); });
    fails(errc::invalid_argument, "context", {"moved from"}, [&] { here.trim(); });
    fails(errc::invalid_argument, "context", {"moved from"},
          [&] { pm::set_default_context(here); });
    // NOLINTEND(bugprone-use-after-move)
}

TEST_CASE("errors: sizes and ranks") {
    fails(errc::rank_mismatch, "shape", {"rank 9", "8"}, [] { shape{1, 1, 1, 1, 1, 1, 1, 1, 1}; });
    fails(errc::rank_mismatch, "shape", {"limit of 8"},
          [] { pm::expand_dims(of({1, 1, 1, 1, 1, 1, 1, 1}), 0); });
    fails(errc::rank_mismatch, "shape", {"limit of 8"},
          [] { pm::take(of({1, 1, 1, 1, 1}), of({1, 1, 1, 1, 1}, dtype::i32)); });
    fails(errc::invalid_argument, "shape", {"(2, -3)", "negative"}, [] { of({2, -3}); });
    fails(errc::invalid_argument, "shape", {"(-1,)", "negative"},
          [] { pm::linspace<float>(0, 1, -1, home); });
    fails(errc::invalid_argument, "shape", {"(-2, -2)", "negative"},
          [] { pm::eye<float>(-2, -1, 0, home); });
    fails(errc::size_overflow, "shape", {"(1099511627776, 1099511627776)"},
          [] { of({huge, huge}); });
    // Before anything runs: the operands cost no memory.
    fails(errc::size_overflow, "shape", {"(1099511627776, 1099511627776)"},
          [] { pm::add(lazy({huge, 1}), lazy({1, huge})); });
    fails(errc::size_overflow, "shape", {"(1099511627776, 1099511627776)"},
          [] { pm::matmul(lazy({huge, 1}), lazy({1, huge})); });
    fails(errc::size_overflow, "shape", {"4611686018427387904", "32"},
          [] { lazy({std::int64_t{1} << 62}); });
    fails(errc::size_overflow, "concat", {"does not fit"}, [] {
        const any_tensor whole = lazy({std::numeric_limits<std::int64_t>::max() / 32});
        const std::vector<any_tensor> parts(40, whole);
        pm::concat(parts);
    });
    fails(errc::size_overflow, "arange", {"too many"},
          [] { pm::arange<float>(0, 1e300, 1, home); });
    fails(errc::size_overflow, "random", {"(4294967297,)", "2^32"}, [] {
        pm::random::normal<float>({(std::int64_t{1} << 32) + 1}, pm::random::key(1), 0, 1, home);
    });
    fails(errc::invalid_argument, "arange", {"step is 0"},
          [] { pm::arange<float>(0, 1, 0, home); });
}

TEST_CASE("errors: values of the host") {
    const auto x = matrix(4, 6);
    fails(errc::shape_mismatch, "item", {"(4, 6)", "one element"}, [&] { x.item(); });
    fails(errc::shape_mismatch, "from_bytes", {"12 bytes", "(2, 2)", "f32", "16"}, [] {
        pm::matrix<float> m = pm::from_span<float>({2, 2}, std::vector<float>{1, 2, 3}, home);
    });
    fails(errc::shape_mismatch, "read", {"8 bytes", "96"}, [&] {
        std::byte eight[8];
        pm::read(x, eight);
    });
    fails(errc::shape_mismatch, "tensor", {"a row has 1", "first has 2"},
          [] { const pm::matrix<float> ragged{{1, 2}, {3}}; });
    any_tensor empty;
    fails(errc::invalid_argument, "tensor", {"empty", "moved from"}, [&] { pm::sin(empty); });
    any_tensor from = x, to = std::move(from);
    fails(errc::invalid_argument, "tensor", {"moved from"}, [&] { from.shape(); });
}

TEST_CASE("errors: two contexts, and the wrong number of operands") {
    const pm::context other(pumice_test::host());
    const pm::vector<float> a(of({3})), b(pm::zeros(dtype::f32, {3}, other));
    fails(errc::context_mismatch, "graph", {"(3,) and (3,)", "two contexts"},
          [&] { pm::vector<float> c = a + b; });
    fails(errc::context_mismatch, "graph", {"two contexts"},
          [&] { pm::concat(pm::axis<0>, a, b); });
    fails(errc::context_mismatch, "eval", {"two contexts"}, [&] { pm::eval(a, b); });
    fails(errc::invalid_argument, "add", {"2 operands", "got 1"},
          [&] { pm::apply<pm::op::add>(any_tensor(a)); });
    fails(errc::invalid_argument, "add", {"at least one tensor"},
          [&] { pm::apply<pm::op::add>(1.0, 2.0); });
}
