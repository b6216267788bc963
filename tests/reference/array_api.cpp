// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The array API 2024.12 against array-api-strict and NumPy (make_array_api.py writes what they
// say): each function with run-time types, on the host and the device.
#include <pumice/array_api.hpp>

#include <tests/support/skip.hpp>
#include <tests/support/spacing.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>

namespace pm = pumice;

namespace {

using tensors = std::vector<pm::any_tensor>;
using words = std::vector<std::string>;

words split_at(const std::string& text, char separator) {
    words parts;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
    return parts;
}
std::vector<std::int64_t> integers(const std::string& text, char separator = 'x') {
    std::vector<std::int64_t> list;
    if (text == "-") return list;
    for (const std::string& part : split_at(text, separator)) list.push_back(std::stoll(part));
    return list;
}
pm::dtype type_named(const std::string& name) {
    for (std::size_t i = 0; i < pm::dtype_table.size(); ++i)
        if (pm::dtype_table[i].name == name) return static_cast<pm::dtype>(i);
    FAIL("no element type is called " << name);
    return {};
}

/// TYPE:SHAPE:VALUES
struct wanted_array {
    pm::dtype type;
    pm::shape extent;
    std::vector<std::byte> bytes;

    explicit wanted_array(const std::string& text) {
        const std::size_t first = text.find(':'), second = text.find(':', first + 1);
        type = type_named(text.substr(0, first));
        for (const std::int64_t n : integers(text.substr(first + 1, second - first - 1)))
            extent.push_back(n);
        const words values = split_at(text.substr(second + 1), ',');
        bytes.resize(static_cast<std::size_t>(pm::byte_count(type, pm::element_count(extent))));
        REQUIRE(values.size() == static_cast<std::size_t>(pm::element_count(extent)));
        for (std::size_t i = 0; i < values.size(); ++i)
            pm::visit(type, [&]<class T>(T) {
                const auto at = static_cast<std::int64_t>(i);
                const char* from = values[i].c_str();
                if constexpr (pm::is_floating(pm::dtype_of<T>))
                    pm::detail::store_element(bytes.data(), at,
                                              pm::convert<T>(std::strtod(from, nullptr)));
                else if constexpr (std::is_same_v<T, std::uint64_t>)
                    pm::detail::store_element(bytes.data(), at,
                                              T(std::strtoull(from, nullptr, 10)));
                else
                    pm::detail::store_element(bytes.data(), at,
                                              pm::convert<T>(std::int64_t{
                                                  std::strtoll(from, nullptr, 10)}));
            });
    }
};

pm::index_place place_of(const std::string& word) {
    if (word == "new") return pm::newaxis;
    if (word == "...") return pm::ellipsis;
    if (word.find(':') == std::string::npos) return std::int64_t{std::stoll(word)};
    pm::slice s;
    std::size_t begin = 0;
    for (int part = 0; begin <= word.size() && part < 3; ++part) {
        const std::size_t end = std::min(word.find(':', begin), word.size());
        if (end > begin) {
            const std::int64_t n = std::stoll(word.substr(begin, end - begin));
            if (part == 0) s.start = n;
            else if (part == 1) s.stop = n;
            else s.step = n;
        }
        begin = end + 1;
    }
    return s;
}

using function = std::function<tensors(const words&, tensors)>;

std::optional<std::int64_t> axis_of(const std::string& word) {
    return word == "-" ? std::nullopt : std::optional<std::int64_t>(std::stoll(word));
}
template <class F>
function reduction(F f) {
    return [f](const words& p, tensors x) { return tensors{f(x[0], integers(p[0]), p[1] == "1")}; };
}
template <class F>
function index_places(F f) {
    return [f](const words& p, tensors x) {
        std::vector<pm::index_place> places;
        for (const std::string& word : split_at(p[0], '/')) places.push_back(place_of(word));
        return tensors{f(x, pm::index_places{places.data(), places.size()})};
    };
}
pm::shape shape_of(const std::string& word) {
    const auto list = integers(word);
    return pm::shape(std::span<const std::int64_t>(list));
}

const pm::context* current = nullptr;

const std::map<std::string, function>& functions() {
    // clang-format off
    static const std::map<std::string, function> map{
        {"nextafter", [](const words&, tensors x) { return tensors{pm::nextafter(x[0], x[1])}; }},
        {"matmul", [](const words&, tensors x) { return tensors{pm::matmul(x[0], x[1])}; }},
        {"tensordot", [](const words& p, tensors x) { return tensors{pm::tensordot(x[0], x[1], std::stoll(p[0]))}; }},
        {"tensordot_axes", [](const words& p, tensors x) { return tensors{pm::tensordot(x[0], x[1], integers(p[0]), integers(p[1]))}; }},
        {"vecdot", [](const words& p, tensors x) { return tensors{pm::vecdot(x[0], x[1], std::stoll(p[0]))}; }},
        {"matrix_transpose", [](const words&, tensors x) { return tensors{pm::matrix_transpose(x[0])}; }},
        {"broadcast_arrays", [](const words&, tensors x) { return pm::broadcast_arrays(std::span<const pm::any_tensor>(x)); }},
        {"broadcast_to", [](const words& p, tensors x) { return tensors{pm::broadcast_to(x[0], shape_of(p[0]))}; }},
        {"concat", [](const words& p, tensors x) { return tensors{pm::concat(x, std::stoll(p[0]))}; }},
        {"concat_flat", [](const words&, tensors x) {
             for (pm::any_tensor& t : x) t = pm::reshape(t, {-1});
             return tensors{pm::concat(x, 0)};
         }},
        {"expand_dims", [](const words& p, tensors x) { return tensors{pm::expand_dims(x[0], std::stoll(p[0]))}; }},
        {"flip", [](const words& p, tensors x) { return tensors{pm::flip(x[0], integers(p[0]))}; }},
        {"moveaxis", [](const words& p, tensors x) { return tensors{pm::moveaxis(x[0], integers(p[0]), integers(p[1]))}; }},
        {"permute_dims", [](const words& p, tensors x) { return tensors{pm::permute_dims(x[0], integers(p[0]))}; }},
        {"repeat", [](const words& p, tensors x) { return tensors{pm::repeat(x[0], std::stoll(p[0]), axis_of(p[1]))}; }},
        {"repeat_counts", [](const words& p, tensors x) { return tensors{pm::repeat(x[0], x[1], axis_of(p[0]))}; }},
        {"reshape", [](const words& p, tensors x) { return tensors{pm::reshape(x[0], shape_of(p[0]))}; }},
        {"roll", [](const words& p, tensors x) {
             if (p[1] == "-") return tensors{pm::roll(x[0], std::stoll(p[0]))};
             return tensors{pm::roll(x[0], integers(p[0]), integers(p[1]))};
         }},
        {"squeeze", [](const words& p, tensors x) { return tensors{pm::squeeze(x[0], integers(p[0]))}; }},
        {"stack", [](const words& p, tensors x) { return tensors{pm::stack(x, std::stoll(p[0]))}; }},
        {"tile", [](const words& p, tensors x) { return tensors{pm::tile(x[0], integers(p[0]))}; }},
        {"unstack", [](const words& p, tensors x) { return pm::unstack(x[0], std::stoll(p[0])); }},
        {"tril", [](const words& p, tensors x) { return tensors{pm::tril(x[0], std::stoll(p[0]))}; }},
        {"triu", [](const words& p, tensors x) { return tensors{pm::triu(x[0], std::stoll(p[0]))}; }},
        {"meshgrid", [](const words& p, tensors x) { return pm::meshgrid(std::span<const pm::any_tensor>(x), p[0]); }},
        {"take", [](const words& p, tensors x) { return tensors{pm::take(x[0], x[1], std::stoll(p[0]))}; }},
        {"take_along_axis", [](const words& p, tensors x) { return tensors{pm::take_along_axis(x[0], x[1], std::stoll(p[0]))}; }},
        {"arange", [](const words& p, tensors) { return tensors{pm::arange(type_named(p[3]), std::stod(p[0]), std::stod(p[1]), std::stod(p[2]), *current)}; }},
        {"linspace", [](const words& p, tensors) { return tensors{pm::linspace<float>(std::stod(p[0]), std::stod(p[1]), std::stoll(p[2]), p[3] == "1", *current)}; }},
        {"eye", [](const words& p, tensors) { return tensors{pm::eye(type_named(p[3]), std::stoll(p[0]), std::stoll(p[1]), std::stoll(p[2]), *current)}; }},
        {"full", [](const words& p, tensors) { return tensors{pm::full(type_named(p[2]), shape_of(p[0]), std::stod(p[1]), *current)}; }},
        {"zeros", [](const words& p, tensors) { return tensors{pm::zeros<double>(shape_of(p[0]), *current)}; }},
        {"ones", [](const words& p, tensors) { return tensors{pm::ones<std::int64_t>(shape_of(p[0]), *current)}; }},
        {"zeros_like", [](const words&, tensors x) { return tensors{pm::zeros_like(x[0])}; }},
        {"ones_like", [](const words&, tensors x) { return tensors{pm::ones_like(x[0])}; }},
        {"full_like", [](const words& p, tensors x) { return tensors{pm::full_like(x[0], std::stod(p[0]))}; }},
        {"astype", [](const words& p, tensors x) { return tensors{pm::astype(x[0], type_named(p[0]))}; }},
        {"sum", reduction(pm::sum)}, {"prod", reduction(pm::prod)}, {"max", reduction(pm::max)},
        {"min", reduction(pm::min)}, {"mean", reduction(pm::mean)}, {"any", reduction(pm::any)},
        {"all", reduction(pm::all)}, {"argmax", reduction(pm::argmax)}, {"argmin", reduction(pm::argmin)},
        {"count_nonzero", reduction([](const pm::any_tensor& x, const std::vector<std::int64_t>& axes, bool keep) { return pm::count_nonzero(x, axes, keep); })},
        {"var", [](const words& p, tensors x) { return tensors{pm::var(x[0], integers(p[0]), 0, p[1] == "1")}; }},
        {"std", [](const words& p, tensors x) { return tensors{pm::std(x[0], integers(p[0]), 0, p[1] == "1")}; }},
        {"var_corrected", [](const words& p, tensors x) { return tensors{pm::var(x[0], integers(p[0]), std::stod(p[1]))}; }},
        {"cumulative_sum", [](const words& p, tensors x) { return tensors{pm::cumulative_sum(x[0], std::stoll(p[0]), {.include_initial = p[1] == "1"})}; }},
        {"cumulative_prod", [](const words& p, tensors x) { return tensors{pm::cumulative_prod(x[0], std::stoll(p[0]), {.include_initial = p[1] == "1"})}; }},
        {"diff", [](const words& p, tensors x) { return tensors{pm::diff(x[0], std::stoll(p[0]), std::stoll(p[1]))}; }},
        {"diff_joined", [](const words& p, tensors x) { return tensors{pm::diff(x[0], std::stoll(p[0]), 1, x[1], x[2])}; }},
        {"sort", [](const words& p, tensors x) { return tensors{pm::sort(x[0], std::stoll(p[0]), p[1] == "1")}; }},
        {"argsort", [](const words& p, tensors x) { return tensors{pm::argsort(x[0], std::stoll(p[0]), p[1] == "1")}; }},
        {"nonzero", [](const words&, tensors x) { return pm::nonzero(x[0]); }},
        {"unique_all", [](const words&, tensors x) {
             const pm::unique_result u = pm::unique_all(x[0]);
             return tensors{u.values, u.indices, u.inverse_indices, u.counts};
         }},
        {"unique_counts", [](const words&, tensors x) { const auto u = pm::unique_counts(x[0]); return tensors{u.first, u.second}; }},
        {"unique_inverse", [](const words&, tensors x) { const auto u = pm::unique_inverse(x[0]); return tensors{u.first, u.second}; }},
        {"unique_values", [](const words&, tensors x) { return tensors{pm::unique_values(x[0])}; }},
        {"searchsorted", [](const words& p, tensors x) { return tensors{pm::searchsorted(x[0], x[1], p[0] == "left" ? pm::side::left : pm::side::right)}; }},
        {"searchsorted_by", [](const words&, tensors x) { return tensors{pm::searchsorted(x[0], x[1], pm::side::left, x[2])}; }},
        {"mask", [](const words&, tensors x) { return tensors{x[0][x[1]]}; }},
        {"index_arrays", [](const words&, tensors x) { return tensors{x[0](x[1], x[2], x[3])}; }},
        {"index_rows", [](const words&, tensors x) { return tensors{x[0][x[1]]}; }},
        {"index", index_places([](const tensors& x, const pm::index_places& p) { return pm::index_view(x[0], p); })},
        {"assign", index_places([](const tensors& x, const pm::index_places& p) { return pm::index_update(x[0], x[1], p); })},
    };
    // clang-format on
    return map;
}

/// A function of the map, or an op of the table, whose bits and logic of bool are the logical ones.
tensors compute(std::string name, const words& parameters, const tensors& x) {
    if (const auto found = functions().find(name); found != functions().end())
        return found->second(parameters, x);
    if (name.starts_with("bitwise_") && x[0].dtype() == pm::dtype::boolean)
        name = name == "bitwise_invert" ? "logical_not" : "logical_" + name.substr(8);
    const pm::op_info* op = nullptr;
    for (const pm::op_info* each : pm::infos_of(pm::all_ops{}))
        if (each->name == name) op = each;
    REQUIRE_MESSAGE(op, "nothing is called " << name);
    return {pm::apply(*op, std::vector<pm::any_operand>(x.begin(), x.end()))};
}

double number(pm::dtype type, const std::byte* memory, std::int64_t i) {
    return pm::visit(type, [&]<class T>(T) {
        return pm::convert<double>(pm::detail::load_element<T>(memory, i));
    });
}

/// "" or what differs. Floating results to a few units in the last place, signs of 0 too.
std::string difference(const wanted_array& want, const pm::any_tensor& got) {
    if (got.dtype() != want.type || got.shape() != want.extent)
        return std::string(to_string(got.dtype())) + to_string(got.shape()) + ", not " +
               std::string(to_string(want.type)) + to_string(want.extent);
    std::vector<std::byte> bytes(want.bytes.size());
    pm::read(got, bytes);
    for (std::int64_t i = 0; i < pm::element_count(want.extent); ++i) {
        const double is = number(want.type, bytes.data(), i),
                     should = number(want.type, want.bytes.data(), i);
        const auto at = static_cast<std::size_t>(pm::byte_offset(want.type, i)),
                   size = static_cast<std::size_t>(pm::byte_offset(want.type, 1));
        const bool same = pm::is_floating(want.type)
                              ? (is == should && std::signbit(is) == std::signbit(should)) ||
                                    (std::isnan(is) && std::isnan(should)) ||
                                    (should != 0 &&
                                     std::fabs(is - should) <= 4 * test::spacing(want.type, should))
                              : std::memcmp(bytes.data() + at, want.bytes.data() + at, size) == 0;
        if (!same)
            return "element " + std::to_string(i) + " is " + std::to_string(is) + ", not " +
                   std::to_string(should);
    }
    return "";
}

struct api_case {
    std::string line, name;
    words parameters, operands, results;
};
std::vector<api_case> api_cases() {
    std::ifstream in(pumice_test::tests_dir() + "/data/expected/array_api.txt");
    std::vector<api_case> list;
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with('#')) continue;
        const words parts = split_at(line, '|');
        REQUIRE(parts.size() == 3);
        const words head = split_at(parts[0], ' ');
        api_case c{line, head[0], split_at(head[1], ','), {}, {}};
        for (const std::string& word : split_at(parts[1], ' '))
            if (!word.empty()) c.operands.push_back(word);
        for (const std::string& word : split_at(parts[2], ' '))
            if (!word.empty()) c.results.push_back(word);
        list.push_back(std::move(c));
    }
    return list;
}

void check(const api_case& c, const pm::context& where) {
    current = &where;
    tensors operands;
    for (const std::string& text : c.operands) {
        const wanted_array a(text);
        operands.push_back(pm::from_bytes(a.type, a.extent, a.bytes, where));
    }
    const tensors got = compute(c.name, c.parameters, operands);
    CHECK_MESSAGE(got.size() == c.results.size(), c.line);
    for (std::size_t i = 0; i < got.size() && i < c.results.size(); ++i) {
        const std::string wrong = difference(wanted_array(c.results[i]), got[i]);
        CHECK_MESSAGE(wrong.empty(), c.line << "\nresult " << i << ": " << wrong);
    }
}

}  // namespace

TEST_CASE("array API: every function is array-api-strict's on the host") {
    const pm::context host(pm::host_only{});
    const std::vector<api_case> list = api_cases();
    std::set<std::string> names;
    for (const api_case& c : list) check(c, host), names.insert(c.name);
    CHECK(list.size() > 500);
    CHECK(names.size() > 125);
}

TEST_CASE("array API: what is no op of the table is array-api-strict's on the device") {
    const pm::context here;
    int ran = 0;
    std::map<std::string, int> seen;  // of a function in many types, some
    for (const api_case& c : api_cases()) {
        if (functions().find(c.name) == functions().end()) continue;
        if (const int n = seen[c.name]++; n > 1 && n % 7 != 0) continue;
        check(c, here), ++ran;
    }
    CHECK(ran > 100);
}

TEST_CASE("array API: of many elements a device finds those that a mask selects") {
    constexpr std::int64_t n = 70001;
    const pm::vector<std::int32_t> x = pm::arange<std::int32_t>(double(n));
    const auto wanted = [](auto holds) {
        std::vector<std::int32_t> list;
        for (std::int32_t i = 0; i < n; ++i)
            if (holds(i)) list.push_back(i);
        return list;
    };
    CHECK(x[x % 3 == 1].to_vector() == wanted([](std::int32_t i) { return i % 3 == 1; }));
    CHECK(x[x == n - 1].to_vector() == std::vector<std::int32_t>{n - 1});
    CHECK(x[x < 0].to_vector().empty());
    CHECK(x[x >= 0].to_vector() == x.to_vector());
    CHECK(pm::nonzero(x)[0].size() == n - 1);

    const pm::vector<float> sorted = pm::astype<float>(x / 3),
                            asked{-1, 0, 1, 1.5f, 23333, 1e9f, std::nanf("")};
    const std::vector<float> all = sorted.to_vector();
    for (const pm::side from : {pm::side::left, pm::side::right}) {
        std::vector<std::int64_t> where;
        for (const float v : asked.to_vector())
            where.push_back(std::isnan(v) ? n
                                          : (from == pm::side::left
                                                 ? std::lower_bound(all.begin(), all.end(), v)
                                                 : std::upper_bound(all.begin(), all.end(), v)) -
                                                all.begin());
        CHECK(pm::searchsorted(sorted, asked, from).to_vector() == where);
    }
}

TEST_CASE("array API: what is made of ops takes as few kernels as one written by hand") {
    if (pm::default_context().device().type == pm::device_type::host)
        PUMICE_SKIP("vulkan-device", "the host computes what is small when it is made");
    const pm::matrix<std::int32_t> k = pm::reshape(pm::arange<std::int32_t>(64), {8, 8});
    const pm::matrix<float> a = pm::astype<float>(k);
    const pm::vector<int> i{1, 2};
    pm::eval(k, a, i);
    const auto dispatches = [](const auto& lazy) {
        const pm::any_tensor y(lazy.get());
        const auto before = pm::stats().dispatches;
        pm::eval(y);
        return pm::stats().dispatches - before;
    };
    CHECK(dispatches(pm::matmul(k, k)) == 1);
    CHECK(dispatches(pm::matmul(k > 3, k > 5)) == 1);
    CHECK(dispatches(pm::vecdot(a, a)) == 1);
    CHECK(dispatches(pm::triu(a)) == 1);
    CHECK(dispatches(pm::diff(a)) == 1);
    CHECK(dispatches(pm::count_nonzero(a, pm::axis<0>)) == 1);
    CHECK(dispatches(pm::sum(k)) == 1);
    CHECK(dispatches(pm::trace(a)) == 1);
    CHECK(dispatches(pm::searchsorted(a[0], a)) == 1);
    CHECK(dispatches(a(i, i)) == 2);
}
