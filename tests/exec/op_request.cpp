// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/front.hpp>
#include <pumice/policy/provider.hpp>

#include <tests/support/thrown.hpp>

#include <doctest/doctest.h>

#include <map>

namespace pm = pumice;
using pm::any_tensor;

namespace {

using given = std::vector<any_tensor>;

/// What was asked for, and how often it was handled, by name.
struct counts {
    std::map<std::string, int> asked, handled;
    /// Handles these ops by the function, and no others.
    pm::op_provider by(std::vector<std::string> ops,
                       pm::callback<any_tensor(const pm::op_request&)> f) {
        return [this, ops = std::move(ops), f = std::move(f)](const pm::op_request& r) -> given {
            const std::string op(r.op);
            ++asked[op];
            CHECK(r.domain == "pumice");
            CHECK(r.outputs == 1);
            if (std::find(ops.begin(), ops.end(), op) == ops.end()) return {};
            ++handled[op];
            return {f(r)};
        };
    }
};
using table = std::map<std::string, int>;
constexpr std::int64_t one_axis[] = {1};

any_tensor values(const pm::context& home, const pm::shape& extent, const std::vector<float>& v) {
    return pm::from_bytes(pm::dtype::f32, extent, std::as_bytes(std::span(v)), home);
}
pm::matrix<float> numbers(const pm::context& home) {
    return values(home, {2, 3}, {1, -2, 3, -4, 5, -6}).as<pm::matrix<float>>();
}

}  // namespace

TEST_CASE("provide ops: typed ops and those at run time are asked for, handled or not") {
    counts first, second;
    const pm::context
        home(pm::provide_ops{first.by({"matmul"},
                                      [](const pm::op_request& r) {
                                          return any_tensor(pm::matmul(r.inputs[0], r.inputs[1]) +
                                                            100.0f);
                                      })},
             pm::provide_ops{second.by({"sum", "matmul", "relu"}, [](const pm::op_request& r) {
                 if (r.op == "relu") return any_tensor(pm::abs(r.inputs[0]));
                 CHECK(r.integers("axes") == std::vector<std::int64_t>{1});
                 CHECK(r.integer("keepdims", 7) == 0);
                 CHECK(r.integer("other", 7) == 7);
                 return any_tensor(pm::reduce(pm::reduction::max, r.inputs[0], one_axis));
             })});
    const pm::matrix<float> x = numbers(home);
    CHECK(first.asked.empty());  // values that are given are no op

    const pm::matrix<float> y = pm::matmul(x, pm::permute_dims(x, pm::axes<1, 0>));
    CHECK(y.to_vector() == std::vector<float>{114, 68, 68, 177});
    CHECK(first.asked == table{{"matmul", 1}});  // what it calls itself is its own
    CHECK(first.handled == table{{"matmul", 1}});
    CHECK(second.asked.empty());

    const pm::vector<float> s = pm::sum(x, pm::axis<1>);
    CHECK(s.to_vector() == std::vector<float>{3, 5});
    CHECK(pm::to_vector<float>(pm::reduce(pm::reduction::sum, any_tensor(x), one_axis)) ==
          std::vector<float>{3, 5});
    CHECK(first.asked == table{{"matmul", 1}, {"sum", 2}});
    CHECK(second.handled == table{{"sum", 2}});

    // Elementwise, by a type and at run time; of an expression each part.
    const pm::matrix<float> z = pm::relu(x) * 2.0f;
    CHECK(z.to_vector() == std::vector<float>{2, 4, 6, 8, 10, 12});
    CHECK(second.asked == table{{"sum", 2}, {"relu", 1}, {"multiply", 1}});
    CHECK(pm::to_vector<float>(pm::relu(any_tensor(x)))[1] == 2);
    CHECK(second.handled == table{{"sum", 2}, {"relu", 2}});
    CHECK(pm::softmax(x, pm::axis<1>).to_vector().size() == 6);
    CHECK(second.asked["softmax"] == 1);
}

TEST_CASE("provide ops: an expression stays one kernel unless an op of it is asked for") {
    counts seen;
    const pm::op_provider tenfold = seen.by({"relu"}, [](const pm::op_request& r) {
        return any_tensor(pm::relu(r.inputs[0]) * 10.0f);
    });
    const pm::context plain, home(pm::provide_ops{tenfold, {"relu", "exp"}});
    const auto f = [](const auto& x) { return pm::relu(x * x - 3.0f) + x; };
    const pm::matrix<float> x = numbers(home);
    const auto kernels = [](const pm::context& c, const pm::matrix<float>& of) {
        pm::matrix<float> y = of * of + of;
        const std::uint64_t before = c.stats().dispatches + c.stats().host_kernels;
        pm::eval(y);
        return c.stats().dispatches + c.stats().host_kernels - before;
    };
    CHECK(kernels(home, x) == 1);
    CHECK(seen.asked.empty());
    const pm::matrix<float> y = f(x);
    CHECK(y.to_vector() == std::vector<float>{1, 8, 63, 126, 225, 324});
    CHECK(seen.asked == table{{"relu", 1}});
    CHECK(seen.handled == table{{"relu", 1}});

    // What is not handled is joined again, and is what it is without a provider.
    counts none;
    const pm::context looked_at(pm::provide_ops{none.by({}, nullptr)});
    const pm::matrix<float> same = f(numbers(looked_at)), usual = f(numbers(plain));
    CHECK(same.shape() == usual.shape());
    const std::uint64_t before = looked_at.stats().dispatches;
    CHECK(same.to_vector() == usual.to_vector());
    CHECK(looked_at.stats().dispatches - before <= 1);
    CHECK(none.asked == table{{"multiply", 1}, {"subtract", 1}, {"relu", 1}, {"add", 1}});
}

TEST_CASE("provide ops: operands, numbers and attributes are those of the op") {
    std::string told;  // a line each
    const auto look = [&](const pm::op_request& r) -> given {
        std::string text(r.op);
        for (const any_tensor& t : r.inputs)
            text += " " + std::string(pm::to_string(t.dtype())) + pm::to_string(t.shape());
        told += text + "\n";
        if (r.op == "conv") {
            CHECK(r.integers("strides") == std::vector<std::int64_t>{2, 1});
            CHECK(r.integers("pads") == std::vector<std::int64_t>{1, 0, 1, 0});
            CHECK(r.integer("group", 0) == 1);
        }
        if (r.op == "cumulative_sum") CHECK(r.integer("axis", -1) == 1);
        if (r.op == "astype") CHECK(r.text("to", "") == "f32");
        if (r.op == "multiply") CHECK(pm::to_vector<float>(any_tensor(r.inputs[1]))[0] == 0.5f);
        return {};
    };
    const pm::context home(pm::provide_ops{look});
    const pm::matrix<float> x = numbers(home);
    const pm::vector<std::int32_t> i = pm::ones<std::int32_t>({3}, home);
    const pm::matrix<float> scaled = x * 0.5f;
    const pm::vector<float> cast = pm::astype<float>(i);
    const pm::matrix<float> running = pm::cumulative_sum(x, pm::axis<1>);
    pm::conv_op o;
    o.stride[0] = 2;
    o.pad_begin[0] = o.pad_end[0] = 1;
    const any_tensor image = pm::ones<float>({1, 1, 4, 4}, home),
                     w = pm::ones<float>({1, 1, 3, 3}, home);
    pm::conv(image, w, o);
    const any_tensor both[] = {any_tensor(x), any_tensor(scaled)};
    pm::concat(both, 0);
    CHECK(told ==
          "multiply f32(2, 3) f32()\n"
          "astype i32(3,)\n"
          "cumulative_sum f32(2, 3)\n"
          "conv f32(1, 1, 4, 4) f32(1, 1, 3, 3)\n"
          "concat f32(2, 3) f32(2, 3)\n");
}

TEST_CASE("provide ops: compiled functions ask once, and what is wrong is named") {
    counts seen;
    const pm::context home(pm::provide_ops{
        seen.by({"exp"}, [](const pm::op_request& r) { return any_tensor(r.inputs[0] + 1.0f); }),
        {"exp"}});
    const auto f = pm::compile([](const pm::matrix<float>& x) -> pm::matrix<float> {
        return pm::exp(x) * 2.0f;
    });
    const pm::matrix<float> x = numbers(home);
    for (int i = 0; i < 3; ++i) CHECK(f(x).to_vector()[0] == 4);
    CHECK(seen.asked == table{{"exp", 1}});

    const pm::context other;
    const auto with = [&](pm::callback<given(const any_tensor&)> give) {
        const pm::context c(pm::provide_ops{
            [give](const pm::op_request& r) { return give(r.inputs[0]); }, {"exp"}});
        return test::thrown_by([&] { pm::matrix<float> y = pm::exp(numbers(c)); });
    };
    CHECK(with([](const any_tensor& t) { return given{t, t}; }).code() ==
          pm::errc::invalid_argument);
    CHECK(with([](const any_tensor& t) { return given{pm::astype(t, pm::dtype::f16)}; })
              .message()
              .find("exp is given f16, and gives f32") != std::string::npos);
    CHECK(with([](const any_tensor& t) { return given{pm::expand_dims(t, 0)}; }).code() ==
          pm::errc::shape_mismatch);
    CHECK(with([&](const any_tensor&) { return given{any_tensor(numbers(other))}; }).code() ==
          pm::errc::context_mismatch);
    CHECK(with([](const any_tensor&) -> given {
              throw pm::error(pm::errc::unsupported, "mine", "not today");
          })
              .message()
              .find("not today") != std::string::npos);
    // The next call is asked all the same.
    CHECK(pm::matrix<float>(pm::exp(x)).to_vector()[0] == 2);
    // A view in another order than the op's result is brought into it.
    const pm::context turned(pm::provide_ops{
        [](const pm::op_request& r) {
            constexpr std::int64_t order[] = {1, 0};
            return given{pm::permute_dims(any_tensor(r.inputs[0] + 0.0f), order)};
        },
        {"exp"}});
    const auto square = values(turned, {2, 2}, {1, 2, 3, 4}).as<pm::matrix<float>>();
    pm::matrix<float> t = pm::exp(square);
    CHECK(t.host()[1] == 3);
}
