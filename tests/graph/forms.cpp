// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Calls and reductions of one form have one operation, whoever makes them; others have others.
#include <pumice/graph/forms.hpp>

#include <pumice/expr/ops.hpp>

#include <doctest/doctest.h>

#include <thread>
#include <vector>

namespace pm = pumice;

namespace {

pm::detail::call_form form_of(const pm::op_info& op, pm::dtype has, pm::dtype wanted,
                              bool number = false) {
    pm::detail::call_form form{&op, wanted};
    for (pm::detail::call_form::operand& o : form.operands) o = {has, wanted, false};
    if (number) form.operands[1] = {wanted, wanted, true};
    return form;
}

}  // namespace

TEST_CASE("call form: the program of a call") {
    const pm::program plain =
        form_of(pm::op_info_of<pm::op::add>, pm::dtype::f32, pm::dtype::f32).make();
    REQUIRE(plain.code.size() == 3);
    CHECK(plain.code[1].index == 1);
    CHECK(plain.code[2].op == &pm::op_info_of<pm::op::add>);
    CHECK(plain.outputs[0] == 2);
    const pm::program mixed =
        form_of(pm::op_info_of<pm::op::add>, pm::dtype::f16, pm::dtype::f32, true).make();
    REQUIRE(mixed.code.size() == 4);
    CHECK(mixed.code[0].type == pm::dtype::f16);
    CHECK(mixed.code[1].what == pm::instruction::code::cast);
    CHECK(mixed.code[2].what == pm::instruction::code::scalar);
    CHECK(mixed.code[2].index == 0);
    CHECK(mixed.code[3].args[0] == 1);
}

TEST_CASE("call form: one operation for each, of any thread") {
    std::vector<pm::detail::call_form> forms;
    const pm::dtype types[] = {pm::dtype::f32, pm::dtype::f64, pm::dtype::i32, pm::dtype::u8};
    for (const pm::op_info* op : {&pm::op_info_of<pm::op::add>, &pm::op_info_of<pm::op::multiply>,
                                  &pm::op_info_of<pm::op::maximum>})
        for (const pm::dtype has : types)
            for (const pm::dtype wanted : types)
                for (const bool number : {false, true})
                    forms.push_back(form_of(*op, has, wanted, number));
    std::vector<std::vector<const pm::operation*>> found(4);
    std::vector<std::thread> threads;
    for (auto& list : found)
        threads.emplace_back([&list, &forms] {
            for (const pm::detail::call_form& f : forms) list.push_back(pm::detail::known_call(f));
        });
    for (std::thread& t : threads) t.join();
    for (std::size_t i = 0; i < forms.size(); ++i) {
        REQUIRE(found[0][i]);
        for (const auto& list : found) CHECK(list[i] == found[0][i]);
        for (std::size_t j = 0; j < i; ++j) CHECK(found[0][i] != found[0][j]);
        const auto* const op = found[0][i]->get_if<pm::elementwise_op>();
        REQUIRE(op);
        const pm::program wanted = forms[i].make();
        REQUIRE(op->body->code.size() == wanted.code.size());
        for (std::size_t k = 0; k < wanted.code.size(); ++k)
            CHECK(op->body->code[k] == wanted.code[k]);
    }
}

TEST_CASE("reduction form: one operation for each") {
    std::vector<pm::detail::reduction_form> forms;
    for (const pm::reduction what : {pm::reduction::sum, pm::reduction::var})
        for (const bool keepdims : {false, true})
            for (const std::uint32_t axes : {0u, 1u, 5u, 0x80u})
                forms.push_back({nullptr, what, keepdims, axes});
    forms.push_back({&pm::op_info_of<pm::op::add>, pm::reduction::by_op, false, 1});
    forms.push_back({&pm::op_info_of<pm::op::multiply>, pm::reduction::by_op, false, 1});
    std::vector<const pm::operation*> found;
    for (const pm::detail::reduction_form& f : forms) {
        found.push_back(pm::detail::known_reduction(f));
        REQUIRE(found.back());
        for (std::size_t j = 0; j + 1 < found.size(); ++j) CHECK(found[j] != found.back());
        CHECK(pm::detail::known_reduction(f) == found.back());
        const auto* const op = found.back()->get_if<pm::reduce_op>();
        REQUIRE(op);
        CHECK(op->what == f.what);
        CHECK(op->keepdims == f.keepdims);
        CHECK(op->by == f.op);
        std::uint32_t axes = 0;
        for (const int axis : op->axes) axes |= 1u << axis;
        CHECK(axes == f.axes);
    }
}
