// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// reference() of the problems and the host path against NumPy and ml_dtypes, in every element type
// (make_expected.py writes what they say). The ONNX operators' cases compare with ONNX Runtime.
#include <pumice/expr/ops.hpp>
#include <pumice/front.hpp>

#include <tests/support/skip.hpp>
#include <tests/support/spacing.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

namespace pm = pumice;

namespace {

struct array {
    pm::dtype type{};
    pm::shape extent;
    std::span<const std::byte> bytes;
};

struct expected_case {
    std::string kind, name;
    double ulps = 0;
    array result;
    std::vector<array> operands;
};

pm::dtype dtype_named(std::string_view name) {
    for (std::size_t i = 0; i < pm::dtype_table.size(); ++i)
        if (pm::dtype_table[i].name == name) return static_cast<pm::dtype>(i);
    FAIL("no element type is called " << std::string(name));
    return {};
}

/// TYPE:SHAPE:OFFSET
array parse(const std::string& text, std::span<const std::byte> blob) {
    std::istringstream in(text);
    std::string type, extent, offset;
    std::getline(in, type, ':'), std::getline(in, extent, ':'), std::getline(in, offset);
    array a{dtype_named(type), {}, {}};
    std::istringstream sizes(extent == "-" ? "" : extent);
    for (std::string size; std::getline(sizes, size, 'x');) a.extent.push_back(std::stoll(size));
    const std::int64_t length = pm::byte_count(a.type, pm::element_count(a.extent));
    a.bytes = blob.subspan(std::stoul(offset), static_cast<std::size_t>(length));
    return a;
}

const std::vector<expected_case>& cases() {
    static std::vector<char> blob;
    static const std::vector<expected_case> list = [] {
        const std::string base = pumice_test::tests_dir() + "/data/expected/numpy.";
        std::ifstream binary(base + "bin", std::ios::binary), text(base + "txt");
        blob.assign(std::istreambuf_iterator<char>(binary), {});
        std::vector<expected_case> found;
        for (std::string line; std::getline(text, line);) {
            if (line.starts_with('#')) continue;
            std::istringstream in(line);
            expected_case c;
            std::string word;
            in >> c.kind >> c.name >> c.ulps >> word;
            c.result = parse(word, std::as_bytes(std::span(blob)));
            while (in >> word) c.operands.push_back(parse(word, std::as_bytes(std::span(blob))));
            found.push_back(std::move(c));
        }
        return found;
    }();
    return list;
}

const std::map<std::string_view, const pm::op_info*>& ops() {
    static const auto map = [] {
        std::map<std::string_view, const pm::op_info*> m;
        [&]<class... Ops>(pm::op_list<Ops...>) {
            (m.emplace(pm::op_info_of<Ops>.name, &pm::op_info_of<Ops>), ...);
        }(pm::all_ops{});
        return m;
    }();
    return map;
}

/// "0,2"
std::vector<std::int64_t> axes_of(const std::string& text) {
    std::vector<std::int64_t> axes;
    std::istringstream in(text);
    for (std::string axis; std::getline(in, axis, ',');) axes.push_back(std::stoll(axis));
    return axes;
}

std::vector<std::int64_t> numbers(const std::string& list) {
    std::istringstream in(list);
    std::vector<std::int64_t> found;
    for (std::string n; std::getline(in, n, 'x');) found.push_back(std::stoll(n));
    return found;
}

pm::scattering scattering_named(std::string_view name) {
    for (int i = 0; i <= static_cast<int>(pm::scattering::min); ++i)
        if (to_string(static_cast<pm::scattering>(i)) == name)
            return static_cast<pm::scattering>(i);
    FAIL("no scattering is called " << std::string(name));
    return {};
}

pm::any_tensor compute(const expected_case& c, const std::vector<pm::any_tensor>& x) {
    if (c.kind == "op") {
        const std::vector<pm::any_operand> operands(x.begin(), x.end());
        return pm::apply(*ops().at(c.name), operands);
    }
    const std::size_t split = c.name.find(':');
    const std::string first = c.name.substr(0, split),
                      second = split == std::string::npos ? "" : c.name.substr(split + 1);
    if (c.kind == "einsum") return pm::einsum(c.name, std::span(x));
    if (c.kind == "argsort") return pm::argsort(x[0], std::stoll(first), second == "1");
    if (c.kind == "sort") return pm::sort(x[0], std::stoll(first), second == "1");
    if (c.kind == "top_k")
        return pm::top_k(x[0], std::stoll(first), std::stoll(second), second.ends_with(":1"))
            .values;
    if (c.kind == "take_along_axis") return pm::take_along_axis(x[0], x[1], std::stoll(c.name));
    if (c.kind == "gather_nd") return pm::gather_nd(x[0], x[1], std::stoll(c.name));
    if (c.kind == "scatter_elements")
        return pm::scatter_elements(x[0], x[1], x[2], std::stoll(first), scattering_named(second));
    if (c.kind == "scatter_nd") return pm::scatter_nd(x[0], x[1], x[2], scattering_named(c.name));
    if (c.kind == "roll") return pm::roll(x[0], std::stoll(first), std::stoll(second));
    if (c.kind == "repeat") return pm::repeat(x[0], std::stoll(first), std::stoll(second));
    if (c.kind == "tile") return pm::tile(x[0], numbers(c.name));
    if (c.kind == "pad") {
        const std::vector<std::int64_t> list = numbers(second);
        std::vector<pm::pad_width> widths;
        for (std::size_t i = 0; i < list.size(); i += 2) widths.push_back({list[i], list[i + 1]});
        return pm::pad(x[0], widths, static_cast<pm::pad_mode>(std::stoi(first)));
    }
    if (c.kind == "cast") return pm::astype(x[0], c.result.type);
    if (c.kind == "matmul") return pm::matmul(x[0], x[1]);
    if (c.kind == "layer_norm") return pm::layer_norm(x[0], axes_of(c.name));
    if (c.kind == "rms_norm") return pm::rms_norm(x[0], axes_of(c.name));
    if (c.kind == "var") {
        const std::size_t colon = c.name.find(':');
        return pm::var(x[0], axes_of(c.name.substr(0, colon)), std::stod(c.name.substr(colon + 1)));
    }
    // Recorded in the operand's type: without one, integers give i64 and u64, as NumPy's do.
    const auto type = c.result.type;
    if (c.kind == "sum_along") return pm::cumulative_sum(x[0], std::stoll(c.name), {}, type);
    if (c.kind == "prod_along") return pm::cumulative_prod(x[0], std::stoll(c.name), {}, type);
    if (c.kind == "softmax") return pm::softmax(x[0], std::stoll(c.name));
    if (c.kind == "log_softmax") return pm::softmax(x[0], std::stoll(c.name), true);
    REQUIRE(c.kind == "reduce");
    const std::size_t colon = c.name.find(':');
    const std::int64_t axis[] = {std::stoll(c.name.substr(colon + 1))};
    for (int r = 0; r <= static_cast<int>(pm::reduction::logsumexp); ++r)
        if (to_string(static_cast<pm::reduction>(r)) == c.name.substr(0, colon))
            return pm::reduce(static_cast<pm::reduction>(r), x[0], axis);
    FAIL("no reduction is called " << c.name);
    return {};
}

double number(pm::dtype type, const std::byte* memory, std::int64_t i) {
    return pm::visit(type, [&]<class T>(T) {
        return pm::convert<double>(pm::detail::load_element<T>(memory, i));
    });
}

bool agree(const array& want, const std::vector<std::byte>& got, double ulps, std::string& why) {
    if (std::equal(got.begin(), got.end(), want.bytes.begin(), want.bytes.end())) return true;
    for (std::int64_t i = 0; i < pm::element_count(want.extent); ++i) {
        const double is = number(want.type, got.data(), i),
                     should = number(want.type, want.bytes.data(), i);
        const std::int64_t at = pm::byte_offset(want.type, i),
                           next = pm::byte_end(want.type, i + 1);
        const bool same =
            pm::is_floating(want.type)
                ? is == should || (std::isnan(is) && std::isnan(should)) ||
                      std::fabs(is - should) <= ulps * test::spacing(want.type, should)
                : std::equal(got.begin() + at, got.begin() + next, want.bytes.begin() + at);
        if (same) continue;
        std::ostringstream text;
        text.precision(17);
        text << "element " << i << " is " << is << ", not " << should;
        why = text.str();
        return false;
    }
    return true;
}

void check(const expected_case& c, const pm::context& where) {
    std::vector<pm::any_tensor> operands;
    for (const array& a : c.operands)
        operands.push_back(pm::from_bytes(a.type, a.extent, a.bytes, where));
    std::string about = c.kind + " " + c.name + " of";
    for (const array& a : c.operands)
        about += " " + std::string(to_string(a.type)) + to_string(a.extent);
    const pm::any_tensor y = compute(c, operands);
    CHECK_MESSAGE(y.dtype() == c.result.type, about);
    CHECK_MESSAGE(y.shape() == c.result.extent, about);
    if (y.dtype() != c.result.type || y.shape() != c.result.extent) return;
    std::vector<std::byte> got(c.result.bytes.size());
    pm::read(y, got);
    std::string why;
    CHECK_MESSAGE(agree(c.result, got, c.ulps, why), about << ": " << why);
}

/// Kinds of which there are many random cases.
bool is_random(const expected_case& c) {
    for (const char* kind : {"op", "cast", "reduce", "softmax", "log_softmax", "matmul",
                             "layer_norm", "rms_norm", "var", "sum_along", "prod_along"})
        if (c.kind == kind) return false;
    return true;
}

}  // namespace

TEST_CASE("reference: every op, cast, reduction, norm and product is NumPy's in every type") {
    const pm::context host(pm::host_only{});
    std::map<std::string, int> counts;
    int random = 0;
    for (const expected_case& c : cases()) {
        check(c, host);
        ++counts[c.kind];
        random += is_random(c);
    }
    CHECK(counts["op"] > 400);
    CHECK(counts["cast"] == 17 * 16);
    CHECK(counts["reduce"] > 200);
    CHECK(counts["softmax"] == 16);
    CHECK(counts["sum_along"] == 36);
    CHECK(counts["prod_along"] == 36);
    CHECK(counts["layer_norm"] == 20);
    CHECK(counts["rms_norm"] == 20);
    CHECK(counts["var"] == 40);
    CHECK(counts["matmul"] == 20);
    CHECK(counts["einsum"] == 12 * 48);
    CHECK(random > 2000);
}

TEST_CASE(
    "reference: what picks, sorts, scatters, cuts, joins and multiplies is NumPy's on the device") {
    const pm::context here;
    int number = 0, ran = 0;
    for (const expected_case& c : cases())
        if (is_random(c) && number++ % 11 == 0)
            check(c, here), ++ran;  // a kernel is compiled for each
    CHECK(ran > 180);
}
