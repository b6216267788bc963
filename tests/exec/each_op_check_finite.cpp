// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/exec/check_finite.hpp>
#include <pumice/policy/each_op.hpp>

#include <pumice.hpp>

#include <tests/support/thrown.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

namespace pm = pumice;
using pm::errc;

namespace {

pm::any_tensor numbers(const pm::context& home, std::vector<float> values) {
    return pm::from_span<float>({static_cast<std::int64_t>(values.size())}, values, home);
}
bool says(const std::string& text, std::string_view part) {
    CAPTURE(text);
    const bool found = text.find(part) != text.npos;
    CHECK(found);
    return found;
}

}  // namespace

TEST_CASE("check_finite: the first op of a chain is named, whatever comes after") {
    const pm::context home(pm::check_finite{});
    const pm::any_tensor x = numbers(home, {1, 0, -2, 4});
    CHECK(pm::to_vector<float>(pm::sqrt(x * x + 1.0f))[3] == doctest::Approx(std::sqrt(17.0)));

    // One expression: the op within it is found.
    pm::vector<float> joined = pm::relu(pm::log(pm::vector<float>(x) * 2.0f) + 1.0f);
    const std::string one = test::text_of_error([&] { pm::eval(joined); });
    says(one, "log gives 1 NaN and 1 infinity in a result of shape (4,) of f32, the first at (1,)");
    says(one, "all of its operands are finite");
    CHECK(test::code_of([&] { pm::eval(joined); }) == errc::not_finite);  // it is lazy as before

    // Several nodes, some of which have names.
    const pm::any_tensor root = pm::named(pm::sqrt(x), "root");
    const pm::any_tensor after = pm::sum(root * root, 0);
    const std::string two = test::text_of_error([&] { pm::eval(after); });
    says(two, "sqrt gives 1 NaN in a result of shape (4,) of f32, the first at (2,)");
    says(two, "root");

    const pm::any_tensor m = pm::reshape(x, {2, 2});
    says(test::text_of_error([&] { pm::eval(pm::matmul(m * 3e38f, m) + 1.0f); }), "the first at");
}

TEST_CASE("check_finite: what was given is told apart, and infinities may be let through") {
    const float inf = std::numeric_limits<float>::infinity();
    const pm::context home(pm::check_finite{});
    const pm::any_tensor x = pm::named(numbers(home, {1, inf, 3}), "x");
    const std::string text = test::text_of_error([&] { pm::eval(x + 1.0f); });
    says(text, "add gives 1 infinity");
    says(text, "operand 0 (x), of shape (3,), was given with 1 infinity");

    const pm::context lenient(pm::check_finite{.infinities = false});
    const pm::any_tensor y = numbers(lenient, {1, inf, 3});
    CHECK(pm::to_vector<float>(pm::exp(-y))[1] == 0);
    CHECK(test::code_of([&] { pm::eval(y - numbers(lenient, {1, inf, 3})); }) == errc::not_finite);
}

TEST_CASE("check_finite: compiled functions, random keys and several results") {
    const pm::context home(pm::check_finite{});
    const auto f = pm::compile([](const pm::any_tensor& x) {
        const pm::any_tensor noisy =
            x + pm::random::uniform(pm::dtype::f32, {3}, pm::random::key(2), 0, 0,
                                    pm::context(x.get()->owner));
        return std::vector<pm::any_tensor>{pm::log(noisy), noisy * 2.0f};
    });
    const std::vector<pm::any_tensor> both = f(numbers(home, {1, 2, 3}));
    CHECK(pm::to_vector<float>(both[0])[0] == 0);
    CHECK(pm::to_vector<float>(both[1]) == std::vector<float>{2, 4, 6});
    says(test::text_of_error([&] { f(numbers(home, {1, 0, 3})); }), "log gives 1 infinity");
    CHECK(f.recorded() == 1);
}

TEST_CASE("check_finite: every type's NaN and infinity is known by its bits") {
    using limits = std::numeric_limits<float>;
    const std::vector<float> values = {0,   limits::quiet_NaN(), -limits::infinity(), 1,
                                       400, limits::infinity()};
    for (const pm::dtype type : {pm::dtype::f64, pm::dtype::f32, pm::dtype::f16, pm::dtype::bf16,
                                 pm::dtype::f8_e5m2, pm::dtype::f8_e4m3}) {
        CAPTURE(pm::to_string(type));
        const pm::any_tensor x = pm::astype(numbers(pm::default_context(), values), type);
        std::vector<std::byte> bytes(static_cast<std::size_t>(x.size_bytes()));
        pm::read(x, bytes);
        const auto found = pm::detail::find_not_finite(type, bytes.data(), 6, true);
        CHECK(found.first == 1);
        CHECK(found.nans + found.infinities == 3);
        CHECK(pm::detail::find_not_finite(type, bytes.data(), 1, true).first == -1);
        CHECK(pm::detail::find_not_finite(type, bytes.data(), 6, false).infinities == 0);
    }
    CHECK_FALSE(pm::detail::find_not_finite(pm::dtype::i32, nullptr, 3, true).any());
}

TEST_CASE("each op: shown once, inputs before users, with its values") {
    const auto seen = std::make_shared<std::vector<std::string>>();
    const pm::context home(pm::watch_ops{[seen](const pm::computed_op& op) {
        std::vector<float> values(static_cast<std::size_t>(op.result->count()));
        if (op.result->type == pm::dtype::f32) op.read(op.result, values.data());
        seen->push_back(pm::cat({op.what.op.is<pm::matmul_op>()   ? "matmul"
                                 : op.what.op.is<pm::reduce_op>() ? "reduce"
                                                                  : "elementwise",
                                 " ", static_cast<std::int64_t>(values[0]), " of ",
                                 op.inputs.size()}));
    }});
    const pm::any_tensor a = pm::full(pm::dtype::f32, {2, 2}, 1, home);
    const pm::any_tensor b = a + a;
    const std::int64_t turned[] = {1, 0};
    const pm::any_tensor c = pm::sum(pm::matmul(b, pm::permute_dims(b, turned)), 0) + 1.0f;
    CHECK(pm::to_vector<float>(c) == std::vector<float>{17, 17});
    CHECK(*seen == std::vector<std::string>{"elementwise 1 of 0", "elementwise 2 of 2",
                                            "matmul 8 of 2", "reduce 16 of 1",
                                            "elementwise 17 of 1"});
    CHECK(pm::to_vector<float>(c).size() == 2);
    CHECK(seen->size() == 5);
}
