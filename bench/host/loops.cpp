// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Every group of ops on the host device against a plain loop at -O2, in one process and in turn:
// the least of nine rounds of each. A cell is good where Pumice takes at most twice the loop's time
// and half a microsecond. Expressions are of the C++ types that the loop has too; "at run time"
// they are of types that only the tensors know. usage: [part of a case's name [largest number of
// elements]]
#include <bench/host/plain.hpp>
#include <pumice.hpp>
#include <pumice/array_api.hpp>
#include <pumice/graph/array_api.hpp>

#include <cstdlib>
#include <string>

namespace pm = pumice;

namespace {

struct cell {
    std::string name;
    std::int64_t size;
    double ours, plain;  // nanoseconds
    double over() const { return ours / (2 * plain + 500); }
};
std::vector<cell> cells;
const char* only = "";
const std::int64_t all_sizes[] = {1000, 30000, 1000000, 10000000};

template <class T>
pm::any_tensor tensor_of(const std::vector<T>& v, const pm::shape& extent) {
    return pm::from_bytes(pm::dtype_of<T>, extent, std::as_bytes(std::span(v)));
}

template <class T>
pm::vector<T> vector_of(const std::vector<T>& v) {
    return pm::vector<T>(tensor_of(v, {static_cast<std::int64_t>(v.size())}));
}

template <class Ours, class Plain>
void compare(const char* what, const char* type, std::int64_t n, Ours&& ours, Plain&& plain) {
    const std::string name = std::string(what) + " " + type;
    if (name.find(only) == std::string::npos) return;
    const auto evaluate = [&] {
        const auto y = ours();
        pm::eval(y);
        bench::use(&y);
    };
    const auto [a, b] = bench::in_turn(evaluate, plain);
    cells.push_back({name, n, a, b});
    std::printf("%-32s %9lld %13.0f %13.0f ns %7.2f\n", name.c_str(), static_cast<long long>(n), a,
                b, a / b);
    std::fflush(stdout);
}

const std::int64_t first_axis[] = {0}, last_axis[] = {1};

/// Reductions, scans and elementwise work of one type.
template <class T>
void arithmetic_of(const char* type, std::int64_t n) {
    using A = bench::held<T>;
    const std::vector<T> v = bench::values<T>(n, 1), w = bench::values<T>(n, 2);
    std::vector<T> out(v.size());
    const std::int64_t columns = 1000, rows = n / columns, points = n / 3;
    const pm::any_tensor x = tensor_of(v, {n}), y = tensor_of(w, {n}),
                         m = tensor_of(v, {rows, columns}),
                         p = pm::reshape(pm::slice_view(x, std::vector{pm::slice{0, 3 * points}}),
                                         {points, 3});
    const pm::vector<T> first(x), second(y);
    const pm::matrix<T> lines(m), threes(p);
    const auto reduction = [&](const char* name, pm::reduction r, auto join, A start) {
        const auto named = [&](const char* how) { return std::string(name) + how; };
        compare(
            named(" all").c_str(), type, n, [&] { return pm::reduce(r, x); },
            [&] { bench::reduce_rows(v.data(), 1, n, out.data(), start, join); });
        compare(
            named(" rows").c_str(), type, n, [&] { return pm::reduce(r, m, last_axis); },
            [&] { bench::reduce_rows(v.data(), rows, columns, out.data(), start, join); });
        compare(
            named(" columns").c_str(), type, n, [&] { return pm::reduce(r, m, first_axis); },
            [&] { bench::reduce_columns(v.data(), rows, columns, out.data(), start, join); });
        compare(
            named(" of 3").c_str(), type, n, [&] { return pm::reduce(r, p, last_axis); },
            [&] { bench::reduce_rows(v.data(), points, 3, out.data(), start, join); });
    };
    const auto add = [](A a, A b) { return static_cast<A>(a + b); };
    reduction("sum", pm::reduction::sum, add, A(0));
    reduction(
        "max", pm::reduction::max, [](A a, A b) { return b > a ? b : a; }, static_cast<A>(v[0]));
    const auto squares = [&] { bench::squares_of_3(v.data(), points, out.data()); };
    compare(
        "sum squares of 3", type, n,
        [&] { return pm::sum(threes * threes, pm::axis<1>, pm::as<T>); }, squares);
    compare(
        "sum squares of 3 at run time", type, n,
        [&] { return pm::reduce(pm::reduction::sum, pm::multiply(p, p), last_axis); }, squares);
    std::vector<std::int64_t> places(v.size());
    compare(
        "argmin rows", type, n, [&] { return pm::reduce(pm::reduction::argmin, m, last_axis); },
        [&] { bench::argmin_rows(v.data(), rows, columns, places.data()); });
    compare(
        "argmin columns", type, n, [&] { return pm::reduce(pm::reduction::argmin, m, first_axis); },
        [&] { bench::argmin_columns(v.data(), rows, columns, places.data(), out.data()); });
    compare(
        "running sum", type, n, [&] { return pm::cumulative(pm::reduction::sum, x, 0); },
        [&] { bench::running_sum(v.data(), n, out.data()); });
    const auto chain = [&] { bench::chain(v.data(), w.data(), n, out.data()); };
    compare(
        "chain", type, n,
        [&] { return pm::vector<T>(pm::maximum(first * second + second, first)); }, chain);
    compare(
        "chain at run time", type, n,
        [&] { return pm::maximum(pm::add(pm::multiply(x, y), y), x); }, chain);
    compare(
        "transposed sum", type, n,
        [&] { return pm::matrix<T>(pm::transpose(lines) + pm::transpose(lines)); },
        [&] { bench::transposed_sum(v.data(), rows, columns, out.data()); });
    if constexpr (std::is_same_v<T, float>)
        compare(
            "tril", type, n, [&] { return pm::tril(m); },
            [&] {
                for (std::int64_t i = 0; i < rows; ++i)
                    for (std::int64_t k = 0; k < columns; ++k)
                        out[std::size_t(i * columns + k)] =
                            k <= i ? v[std::size_t(i * columns + k)] : 0;
            });
    std::vector<std::int64_t> firsts(v.size());
    const auto top = [&](const char* name, const std::vector<T>& of, std::int64_t k) {
        const pm::any_tensor row = tensor_of(of, {n});
        compare(
            name, type, n, [&] { return pm::top_k(row, k).indices; },
            [&] { bench::top_k(of.data(), n, k, places.data(), firsts.data()); });
    };
    top("top_k 1", v, 1);
    top("top_k 9", v, 9);
    top("top_k 100", v, 100);
    top("top_k n/10", v, n / 10);
    std::vector<T> sorted = v;
    std::sort(sorted.begin(), sorted.end(),
              [](T a, T b) { return static_cast<A>(a) < static_cast<A>(b); });
    top("top_k 9 rising", sorted, 9);
    top("top_k n/10 rising", sorted, n / 10);
    std::reverse(sorted.begin(), sorted.end());
    top("top_k 9 falling", sorted, 9);
    if (n > 1000000) return;
    compare(
        "argsort", type, n, [&] { return pm::argsort(x); },
        [&] { bench::argsort(v.data(), n, places.data()); });
    if constexpr (std::is_same_v<T, float>) {
        const pm::any_tensor fives = pm::reshape(x, {n / 5, 5}), holds = pm::any_tensor(x > -2.0f);
        pm::eval(holds);
        compare(
            "sort rows of 5", type, n, [&] { return pm::sort(fives, 1); },
            [&] {
                out = v;
                for (auto row = out.begin(); out.end() - row >= 5; row += 5)
                    std::sort(row, row + 5);
            });
        compare(
            "x[mask], all true", type, n, [&] { return pm::masked_select(x, holds); },
            [&] {
                std::size_t k = 0;
                for (const T e : v)
                    if (e > -2.0f) out[k++] = e;
            });
    }
    compare(
        "sort", type, n, [&] { return pm::sort(x); },
        [&] {
            out = v;
            std::stable_sort(out.begin(), out.end(),
                             [](T a, T b) { return static_cast<A>(a) < static_cast<A>(b); });
        });
}

template <class From, class To>
void cast_of(const char* name, std::int64_t n) {
    const std::vector<From> v = bench::values<From>(n, 3);
    std::vector<To> out(v.size());
    const pm::any_tensor x = tensor_of(v, {n});
    compare(
        "cast", name, n, [&] { return pm::astype(x, pm::dtype_of<To>); },
        [&] { bench::cast(v.data(), n, out.data()); });
}

template <class T>
void picked(const char* type, std::int64_t n) {
    const std::vector<T> v = bench::values<T>(n, 4);
    std::vector<T> out(v.size());
    const std::vector<std::int64_t> at = bench::places(n, n), few = bench::places(n, 256);
    const pm::vector<T> x = vector_of(v), none = vector_of(std::vector<T>(v.size())),
                        zeros = vector_of(std::vector<T>(256));
    const pm::vector<std::int64_t> i = vector_of(at), bins = vector_of(few);
    compare(
        "take", type, n, [&] { return pm::take(x, i); },
        [&] { bench::take(v.data(), at.data(), n, out.data()); });
    compare(
        "scatter add", type, n,
        [&] { return pm::scatter_elements(none, i, x, pm::axis<0>, pm::scattering::sum); },
        [&] {
            std::fill(out.begin(), out.end(), T(0));
            bench::scatter_add(v.data(), at.data(), n, out.data());
        });
    compare(
        "bincount", type, n,
        [&] { return pm::scatter_elements(zeros, bins, x, pm::axis<0>, pm::scattering::sum); },
        [&] {
            std::fill(out.begin(), out.begin() + 256, T(0));
            bench::scatter_add(v.data(), few.data(), n, out.data());
        });
}

template <class T>
void rows_of_reals(const char* type, std::int64_t n) {
    const std::int64_t columns = 500, rows = n / columns;
    const std::vector<T> v = bench::values<T>(n, 5);
    std::vector<T> out(v.size());
    const pm::any_tensor m = tensor_of(v, {rows, columns});
    const auto normalised = [&](const char* name, pm::normalization what, bool soft) {
        compare(
            name, type, n, [&] { return pm::normalize(what, m, last_axis, 1e-5); },
            [&] { bench::normalize(soft, v.data(), rows, columns, out.data()); });
    };
    normalised("softmax", pm::normalization::softmax, true);
    normalised("layer norm", pm::normalization::layer_norm, false);
    compare(
        "variance", type, n, [&] { return pm::variance(m, last_axis); },
        [&] { bench::variance(v.data(), rows, columns, out.data()); });
}

/// Short rows: what is done once a row counts.
template <class T>
void short_rows(const char* type, std::int64_t n) {
    for (const std::int64_t columns : {1, 2, 10}) {
        const std::int64_t rows = n / columns;
        const std::vector<T> v = bench::values<T>(rows * columns, 5), w = bench::values<T>(rows, 6);
        std::vector<T> out(v.size());
        const pm::any_tensor m = tensor_of(v, {rows, columns}), down = tensor_of(w, {rows, 1}),
                             across = tensor_of(std::vector<T>(w.begin(), w.begin() + columns),
                                                {columns, 1});
        const auto named = [&](const char* name) { return name + std::to_string(columns); };
        compare(
            named("softmax of ").c_str(), type, n,
            [&] { return pm::normalize(pm::normalization::softmax, m, last_axis, 1e-5); },
            [&] { bench::normalize(true, v.data(), rows, columns, out.data()); });
        compare(
            named("rows times vector of ").c_str(), type, n, [&] { return pm::matmul(m, across); },
            [&] { bench::rows_times_vector(v.data(), w.data(), rows, columns, out.data()); });
        const std::int64_t turn[] = {1, 0};
        compare(
            named("columns times vector ").c_str(), type, n,
            [&] { return pm::matmul(pm::permute_dims(m, turn), down); },
            [&] { bench::columns_times_vector(v.data(), w.data(), rows, columns, out.data()); });
    }
}

template <class T>
void windows(const char* type, std::int64_t n) {
    const auto side = static_cast<std::int64_t>(std::sqrt(static_cast<double>(n)));
    const auto image = [&](std::int64_t channels, std::int64_t size) {
        return pm::shape{1, channels, size, size};
    };
    {
        const std::vector<T> v = bench::values<T>(side * side, 6), w = bench::values<T>(25, 7);
        std::vector<T> out(v.size());
        const pm::any_tensor x = tensor_of(v, image(1, side)), k = tensor_of(w, {1, 1, 5, 5});
        compare(
            "conv 5x5 of 1", type, n, [&] { return pm::conv(x, k); },
            [&] { bench::conv(v.data(), w.data(), 1, 1, side, 5, out.data()); });
        pm::pool_op pool{.window = {3, 3}, .stride = {1, 1}};
        compare(
            "max pool 3x3", type, n, [&] { return pm::pool(x, pool); },
            [&] { bench::max_pool(v.data(), side, 3, out.data()); });
    }
    if (n > 1000000) return;
    const std::int64_t small = side / 4;
    const std::vector<T> v = bench::values<T>(16 * small * small, 8),
                         w = bench::values<T>(16 * 16 * 9, 9);
    std::vector<T> out(v.size());
    const pm::any_tensor x = tensor_of(v, image(16, small)), k = tensor_of(w, {16, 16, 3, 3});
    compare(
        "conv 3x3 of 16", type, n, [&] { return pm::conv(x, k); },
        [&] { bench::conv(v.data(), w.data(), 16, 16, small, 3, out.data()); });
}

/// What is joined of, or picked by, few elements at a time.
void little_by_little(std::int64_t n) {
    const std::vector<float> v = bench::values<float>(n, 1);
    std::vector<float> out(v.size());
    const pm::any_tensor x = tensor_of(v, {n});
    const auto part = [&](std::int64_t begin, std::int64_t length) {
        const pm::any_tensor p = pm::slice_view(x, std::vector{pm::slice{begin, begin + length}});
        pm::eval(p);
        return p;
    };
    std::vector<pm::any_tensor> rows, columns;
    for (std::int64_t i = 0; i < std::min<std::int64_t>(n / 200, 1000); ++i)
        rows.push_back(part(i * 200, 200));
    const std::int64_t third = n / 3;
    for (std::int64_t i = 0; i < 3; ++i) columns.push_back(part(i * third, third));
    compare(
        "stack of rows", "f32", n, [&] { return pm::stack(rows); },
        [&] {
            for (std::size_t i = 0; i < rows.size(); ++i)
                std::copy_n(&v[i * 200], 200, &out[i * 200]);
            bench::use(out.data());
        });
    compare(
        "stack of 3 columns", "f32", n, [&] { return pm::stack(columns, 1); },
        [&] {
            for (std::int64_t i = 0; i < third; ++i)
                for (std::int64_t k = 0; k < 3; ++k)
                    out[static_cast<std::size_t>(3 * i + k)] =
                        v[static_cast<std::size_t>(k * third + i)];
            bench::use(out.data());
        });
    std::vector<std::int64_t> at(static_cast<std::size_t>(third)), bins(256);
    for (std::size_t i = 0; i < at.size(); ++i) at[i] = static_cast<std::int64_t>(i * 7919) % third;
    const pm::any_tensor threes = pm::reshape(part(0, 3 * third), {third, 3}),
                         places = tensor_of(at, {third}), none = tensor_of(bins, {256}),
                         bytes = pm::remainder(places, 256);
    pm::eval(threes), pm::eval(bytes);
    compare(
        "take rows of 3", "f32", n, [&] { return pm::take(threes, places, 0); },
        [&] {
            for (std::size_t i = 0; i < at.size(); ++i)
                std::copy_n(&v[static_cast<std::size_t>(3 * at[i])], 3, &out[3 * i]);
            bench::use(out.data());
        });
    compare(
        "histogram", "i64", n,
        [&] { return pm::scatter_elements(none, bytes, 1, 0, pm::scattering::sum); },
        [&] {
            std::fill(bins.begin(), bins.end(), 0);
            for (const std::int64_t i : at) ++bins[static_cast<std::size_t>(i % 256)];
            bench::use(bins.data());
        });
    const std::int64_t images = n / 49;
    const pm::any_tensor squares = pm::reshape(part(0, images * 49), {images, 1, 7, 7});
    pm::eval(squares);
    compare(
        "mean pool of 7x7", "f32", n,
        [&] { return pm::pool(squares, {.what = pm::pooling::average, .window = {7, 7}}); },
        [&] {
            for (std::int64_t i = 0; i < images; ++i) {
                float sum = 0;
                for (std::int64_t k = 0; k < 49; ++k)
                    sum += v[static_cast<std::size_t>(i * 49 + k)];
                out[static_cast<std::size_t>(i)] = sum / 49;
            }
            bench::use(out.data());
        });
    const std::int64_t lines = n / 8;
    const pm::any_tensor eights = pm::reshape(part(0, lines * 8), {lines, 8});
    pm::eval(eights);
    std::vector<std::int64_t> least(static_cast<std::size_t>(lines));
    compare(
        "argmin rows of 8", "f32", n,
        [&] { return pm::reduce(pm::reduction::argmin, eights, last_axis); },
        [&] { bench::argmin_rows(v.data(), lines, 8, least.data()); });
    const std::int64_t boards = n / 64;
    const pm::any_tensor few = pm::reshape(part(0, boards * 64), {boards, 1, 8, 8});
    pm::eval(few);
    compare(
        "max pool 3x3 of 8x8", "f32", n, [&] { return pm::pool(few, {.window = {3, 3}}); },
        [&] {
            for (std::int64_t i = 0; i < boards; ++i)
                bench::max_pool(v.data() + i * 64, 8, 3, out.data() + i * 36);
        });
}

void logical(std::int64_t n) {
    std::vector<std::uint8_t> v(static_cast<std::size_t>(n));
    const pm::any_tensor x = pm::from_bytes(pm::dtype::boolean, {n}, std::as_bytes(std::span(v)));
    const std::vector<float> f = bench::values<float>(n, 1);
    const pm::vector<float> y = vector_of(f);
    std::vector<std::uint8_t> out(1);
    compare(
        "any all", "bool", n, [&] { return pm::reduce(pm::reduction::any, x); },
        [&] {
            bench::reduce_rows(v.data(), 1, n, out.data(), 0u,
                               [](std::uint32_t a, std::uint32_t b) { return a | b; });
        });
    compare(
        "any greater", "f32", n, [&] { return pm::any(y > 2.0f); },
        [&] {
            bool any = false;
            for (const float a : f) any |= a > 2;
            bench::use(&any);
        });
}

}  // namespace

int main(int argc, char** argv) {
    only = argc > 1 ? argv[1] : "";
    const std::int64_t largest = argc > 2 ? std::atoll(argv[2]) : all_sizes[3];
    pm::set_default_context(pm::context{pm::host_only{}});
    std::printf("%-32s %9s %13s %13s\n", "case", "elements", "Pumice", "plain");
    for (const std::int64_t n : all_sizes) {
        if (n > largest) break;
        arithmetic_of<std::uint8_t>("u8", n);
        arithmetic_of<std::int32_t>("i32", n);
        arithmetic_of<std::int64_t>("i64", n);
        arithmetic_of<pm::f16>("f16", n);
        arithmetic_of<float>("f32", n);
        arithmetic_of<double>("f64", n);
        little_by_little(n);
        logical(n);
        cast_of<std::uint8_t, float>("u8 f32", n);
        cast_of<float, std::uint8_t>("f32 u8", n);
        cast_of<pm::f16, float>("f16 f32", n);
        cast_of<float, pm::f16>("f32 f16", n);
        cast_of<double, float>("f64 f32", n);
        cast_of<std::int64_t, float>("i64 f32", n);
        cast_of<std::int32_t, std::int64_t>("i32 i64", n);
        picked<std::int64_t>("i64", n);
        picked<float>("f32", n);
        picked<double>("f64", n);
        rows_of_reals<pm::f16>("f16", n);
        short_rows<pm::f16>("f16", n);
        rows_of_reals<float>("f32", n);
        short_rows<float>("f32", n);
        rows_of_reals<double>("f64", n);
        short_rows<double>("f64", n);
        windows<pm::f16>("f16", n);
        windows<float>("f32", n);
        windows<double>("f64", n);
    }
    std::sort(cells.begin(), cells.end(),
              [](const cell& a, const cell& b) { return a.over() > b.over(); });
    const auto slow =
        std::count_if(cells.begin(), cells.end(), [](const cell& c) { return c.over() > 1; });
    std::printf("\n%zu cells, %td of them above twice the plain loop + 0.5 us; the worst:\n",
                cells.size(), slow);
    for (std::size_t i = 0; i < std::min<std::size_t>(cells.size(), 40); ++i)
        std::printf("%-32s %9lld %13.0f %13.0f ns %7.2f\n", cells[i].name.c_str(),
                    static_cast<long long>(cells[i].size), cells[i].ours, cells[i].plain,
                    cells[i].ours / cells[i].plain);
}
