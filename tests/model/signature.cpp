// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/model/signature.hpp>

#include <tests/model/support.hpp>

using namespace pumice_test;
using pumice::model_signature;
using pumice::model_value;
using pumice::shape;

namespace {

model_signature two_inputs() {
    return {"m",
            {{"x", pumice::dtype::f32, {{-1, "batch"}, {3, {}}}, true},
             {"mask", pumice::dtype::boolean, {{-1, "batch"}, {-1, "length"}, {-1, {}}}, true}},
            {{"y", pumice::dtype::f32, {{-1, "length"}, {-1, "batch"}}, true},
             {"z", pumice::dtype::f32, {}}}};
}

}  // namespace

TEST_CASE("signature: as text, open axes by their symbols") {
    const model_signature s = two_inputs();
    CHECK(s.lines() == std::vector<std::string>{
                           "input \"x\" f32 (batch, 3)", "input \"mask\" bool (batch, length, ?)",
                           "output \"y\" f32 (length, batch)", "output \"z\" f32 of any shape"});
    CHECK(s.open());
    CHECK(s.shapes() == std::vector<shape>{{1, 3}, {1, 1, 1}});
}

TEST_CASE("signature: a size goes to every axis of its symbol, a batch to first axes") {
    model_signature s = two_inputs();
    s.set_sizes(2, {{"length", 5}});
    CHECK(s.inputs[0].text() == "f32 (2, 3)");
    CHECK(s.inputs[1].text() == "bool (2, 5, ?)");
    CHECK(s.outputs[0].text() == "f32 (5, 2)");
    CHECK(s.open());
    CHECK(!s.inputs[0].open());
    CHECK(s.outputs[1].open());
}

TEST_CASE("signature: sizes of axes that are not there, and negative ones, are refused") {
    for (const auto& [batch, symbol, size, why] :
         {std::tuple{-1, "length", 1, "a batch of -1"},
          std::tuple{0, "width", 1, "no input has an open axis called \"width\""},
          std::tuple{0, "length", -2, "a negative size for \"length\""}}) {
        model_signature s = two_inputs();
        const auto [code, what] = thrown_by([&] { s.set_sizes(batch, {{symbol, size}}); });
        CHECK(code == pumice::errc::invalid_argument);
        CHECK(contains(what, why));
    }
}

TEST_CASE("signature: a value takes shapes that fit its sizes") {
    const model_value v = two_inputs().inputs[0];
    CHECK(v.takes({7, 3}));
    CHECK(!v.takes({7, 4}));
    CHECK(!v.takes({3}));
    CHECK(model_value{"z", pumice::dtype::f32, {}}.takes({1, 2, 3}));
    model_value set = v;
    set.set_shape({4});
    CHECK(set.text() == "f32 (4)");
    CHECK(!set.open());
}
