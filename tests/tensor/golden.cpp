// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Whole kernel texts against the files of tests/golden. PUMICE_GOLDEN_WRITE=1 writes them anew:
// after a change of the emitter, look at the difference before it is committed.
#include <pumice/front.hpp>

#include <tests/graph/support.hpp>
#include <tests/support/kernel_text.hpp>
#include <tests/support/skip.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

namespace pm = pumice;

namespace mine {
PUMICE_OP(swish2, 1, pm::rules::floating, "", x* pm_sigmoid(x + x));
}  // namespace mine

namespace {

std::filesystem::path folder() {
    return std::filesystem::path(pumice_test::tests_dir()) / "golden";
}

std::set<std::string> compared;

/// "line 3: float t0 = ... / float t0 = ...", or nothing where the texts are the same bytes.
std::string difference(const std::string& is, const std::string& should) {
    std::istringstream a(is), b(should);
    std::string x, y;
    for (int line = 1; is != should; ++line) {
        const bool more_x = bool(std::getline(a, x)), more_y = bool(std::getline(b, y));
        if (!more_x && !more_y) return "the last line ends otherwise";
        if (!more_x) x = "(no such line)";
        if (!more_y) y = "(no such line)";
        if (x != y || more_x != more_y)
            return "line " + std::to_string(line) + " is\n  " + x + "\nand should be\n  " + y;
    }
    return {};
}

void compare(const std::string& name, const std::string& text) {
    CHECK_MESSAGE(compared.insert(name).second, "two texts are called " << name);
    const auto file = folder() / (name + ".slang");
    if (const char* write = std::getenv("PUMICE_GOLDEN_WRITE"); write && std::string(write) == "1")
        std::ofstream(file, std::ios::binary) << text;
    std::ifstream in(file, std::ios::binary);
    const std::string should(std::istreambuf_iterator<char>(in), {});
    CHECK_MESSAGE(in, "cannot read " << file.string() << "; PUMICE_GOLDEN_WRITE=1 writes it");
    const std::string where = difference(text, should);
    CHECK_MESSAGE(where.empty(), file.string() << ": " << where);
}

/// The text of the type, which is also what the run-time fuser makes of its node.
template <class X>
void golden(const std::string& name, const X& x) {
    const std::string text = pm::kernel_source(x);
    const std::string fused = pm::emit(pumice_test::fused_program({x})->view());
    CHECK_MESSAGE(difference(fused, text).empty(),
                  name << ", by the fuser: " << difference(fused, text));
    compare(name, text);
}

/// Tensors of every element type, in an engine that only stores.
struct operands {
    pm::context home{std::make_shared<pumice_test::fake_engine>()};

    template <class T>
    pm::matrix<T> of(const pm::shape& extent = {4, 6}) const {
        return pm::matrix<T>(pm::zeros(pm::dtype_of<T>, extent, home));
    }
    template <class T>
    pm::vector<T> row() const {
        return pm::vector<T>(pm::zeros(pm::dtype_of<T>, {6}, home));
    }
};

}  // namespace

TEST_CASE("golden: what differs is told by its line") {
    CHECK(difference("a\nb\n", "a\nb\n").empty());
    CHECK(difference("a\nc\n", "a\nb\n") == "line 2 is\n  c\nand should be\n  b");
    CHECK(difference("a\n", "a\nb\n") == "line 2 is\n  (no such line)\nand should be\n  b");
    CHECK(difference("a", "a\n") == "the last line ends otherwise");
}

TEST_CASE("golden: arithmetic, scalars, broadcast and shared operands") {
    const operands o;
    const auto a = o.of<float>(), b = o.of<float>(), c = o.of<float>();
    const auto column = o.of<float>({4, 1});
    golden("relu_multiply_add", pm::relu(a * b + o.row<float>()));
    golden("scalars", (a - 1.5f) / (2.0f + b) * 3.0f);
    golden("shared_operand", a * a + a);
    golden("common_subexpression", pm::sqrt(a * b) + pm::sqrt(a * b) / b);
    golden("broadcast_operands", column * o.row<float>() + column);
    golden("clip", pm::clip(a, -1.0f, 1.0f));
    golden("sixteen_operands", a + b + c + o.of<float>() + o.of<float>() + o.of<float>() +
                                   o.of<float>() + o.of<float>() + o.of<float>() + o.of<float>() +
                                   o.of<float>() + o.of<float>() + o.of<float>() + o.of<float>() +
                                   o.of<float>() + o.of<float>());
    golden("long_chain", pm::relu(pm::tanh(pm::abs(a * b + c) * b - a) + pm::exp(-pm::abs(b)) * c +
                                  pm::square(a) - pm::sqrt(pm::abs(a)) + pm::sigmoid(c) * b));
}

TEST_CASE("golden: conditions") {
    const operands o;
    const auto a = o.of<float>(), b = o.of<float>(), c = o.of<float>();
    const auto m = o.of<bool>(), n = o.of<bool>();
    const auto i = o.of<std::int32_t>(), j = o.of<std::int32_t>();
    golden("where_less", pm::where(a < b, a, c));
    golden("where_stored_condition", pm::where(m, a, 0.25f));
    golden("compared_and_joined", (a < b) & ~(b == c));
    golden("bool_operands", m ^ n);
    golden("integers_compared", i >= j);
    golden("classified", pm::isnan(a) | pm::isinf(a));
}

TEST_CASE("golden: conversions") {
    const operands o;
    const auto a = o.of<float>();
    golden("cast_f32_to_i32", pm::astype<std::int32_t>(a * 255.0f));
    golden("cast_bool_to_f32", pm::astype<float>(o.of<bool>()) * a);
    golden("cast_u8_to_f32", pm::astype<float>(o.of<std::uint8_t>()) / 255.0f);
    golden("cast_f32_to_f16", pm::astype<pm::f16>(pm::sigmoid(a)));
    golden("promoted_f16_to_f32", o.of<pm::f16>() * a);
    golden("promoted_f16_and_bf16", o.of<pm::f16>() + o.of<pm::bf16>());
}

TEST_CASE("golden: element types") {
    const operands o;
    golden("f16_chain", pm::sigmoid(o.of<pm::f16>() * o.of<pm::f16>() + o.row<pm::f16>()));
    golden("bf16_chain", pm::tanh(o.of<pm::bf16>()) * 0.5f);
    golden("f64_literals", pm::degrees(o.of<double>()) + pm::sin(o.of<double>()));
    golden("i8_wraps", o.of<std::int8_t>() * o.of<std::int8_t>() + o.of<std::int8_t>());
    golden("i16_shifted", o.of<std::int16_t>() << o.of<std::int16_t>());
    golden("i32_bits", (o.of<std::int32_t>() & o.of<std::int32_t>()) | ~o.of<std::int32_t>());
    golden("i32_divided", o.of<std::int32_t>() / o.of<std::int32_t>() % 7);
    golden("i64_floor_divided", pm::floor_divide(o.of<std::int64_t>(), o.of<std::int64_t>()));
    golden("u8_remainder", o.of<std::uint8_t>() % o.of<std::uint8_t>());
    golden("u16_maximum", pm::maximum(o.of<std::uint16_t>(), o.of<std::uint16_t>()));
    const auto u = o.of<std::uint32_t>();
    golden("u32_hash", (u ^ (u >> 16u)) * 2654435769u);
    golden("u64_scalar", o.of<std::uint64_t>() * 3u + 1u);
}

TEST_CASE("golden: mathematical functions and a user's own op") {
    const operands o;
    const auto a = o.of<float>(), b = o.of<float>();
    golden("mathematics", pm::exp(pm::sin(a)) + pm::log1p(pm::abs(b)) * pm::atan2(a, b) +
                              pm::pow(a, b) - pm::erf(b));
    golden("hard_swish", pm::hard_swish(a) + b);
    golden("custom_op", mine::swish2(a) + 1.0f);
}

TEST_CASE(
    "golden: what only the run-time fuser makes: indices, random numbers, several outputs, index "
    "maps") {
    const operands o;
    const auto text = [](const std::vector<pm::any_tensor>& roots) {
        return pm::emit(pumice_test::fused_program(roots)->view());
    };
    const auto a = o.of<float>(), b = o.of<float>();
    compare("range_times_operand", text({pm::arange<float>(0, 6, 1, o.home) * o.row<float>()}));
    compare("identity_matrix", text({pm::eye<float>(4, 6, 1, o.home)}));
    compare("random_uniform",
            text({pm::random::uniform<float>({4, 6}, pm::random::key(1), 0, 1, o.home)}));
    const auto y = pm::relu(a * b);
    compare("two_outputs", text({y * 2.0f, y + 1.0f}));
    compare("rolled", text({pm::roll(a, 1, pm::axis<1>) - a}));
    compare("padded_and_mirrored", text({pm::pad(a, {{1, 1}, {1, 1}}) *
                                         pm::pad(b, {{1, 1}, {1, 1}}, pm::pad_mode::reflect)}));
}

TEST_CASE("golden: the constant text of a type is the text of distinct operands") {
    const operands o;
    const auto a = o.of<float>(), b = o.of<float>(), c = o.of<float>();
    const auto apart = a * b + c, together = a * a + a;
    using type = decltype(apart);
    CHECK(std::is_same_v<type, decltype(together)>);
    CHECK(std::string_view(pm::kernel_text<type>) == pm::kernel_source(apart));
    CHECK(std::string_view(pm::kernel_text<type>) != pm::kernel_source(together));
}

TEST_CASE("golden: no file is left over") {
    // By the names above, since other processes may run the other cases.
    std::ifstream in(std::filesystem::path(pumice_test::tests_dir()) / "tensor" / "golden.cpp");
    const std::string cases(std::istreambuf_iterator<char>(in), {});
    int files = 0;
    for (const auto& f : std::filesystem::directory_iterator(folder())) {
        const std::string name = f.path().stem().string();
        CHECK_MESSAGE(cases.find("(\"" + name + "\",") != cases.npos, name);
        ++files;
    }
    CHECK(files >= 30);
}
