// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Another format of models is one builder: here one of a few lines of text.
#include <pumice/front.hpp>
#include <pumice/model.hpp>

#include <tests/model/support.hpp>

#include <sstream>

using namespace pumice_test;
namespace pm = pumice;

namespace {

constexpr const char* two_layers = R"(input x n 3
weight w 3 2 : 1 -2 3 -4 5 -6
weight b 2 : -1 0.5
matmul h x w
add s h b
relu y s
output y
)";

/// A line a value, in order: an op, the value's name, the names of what it reads.
class text_builder final : public pm::model_builder {
public:
    explicit text_builder(const std::string& text) {
        signature_.name = "text";
        std::istringstream file(text);
        for (std::string row; std::getline(file, row);) {
            std::istringstream words(row);
            std::vector<std::string> line;
            for (std::string word; words >> word;) line.push_back(word);
            if (line[0] == "input") {
                signature_.inputs.push_back({line[1], pm::dtype::f32, {}, true});
                for (std::size_t i = 2; i < line.size(); ++i)
                    signature_.inputs.back().dims.push_back(std::isdigit(line[i][0])
                                                                ? pm::model_dim{std::stoi(line[i]),
                                                                                {}}
                                                                : pm::model_dim{-1, line[i]});
            }
            if (line[0] == "output")
                signature_.outputs.push_back({line[1], pm::dtype::f32, {}, false, false});
            lines_.push_back(std::move(line));
        }
    }

    std::vector<pm::any_tensor> build(pm::span<const pm::any_tensor> inputs,
                                      pm::weights& constants) const override {
        std::map<std::string, pm::any_tensor> values;
        std::vector<pm::any_tensor> outputs;
        std::size_t next = 0;
        for (std::size_t i = 0; i < lines_.size(); ++i) {
            const std::vector<std::string>& line = lines_[i];
            pm::any_tensor& made = values[line[1]];
            const auto read = [&](std::size_t k) { return values.at(line[k]); };
            if (line[0] == "input") made = inputs[next++];
            else if (line[0] == "weight")
                made = constants.get(pm::weights::of_slot(static_cast<int>(i)),
                                     [&] { return weight(line); });
            else if (line[0] == "matmul") made = pm::matmul(read(2), read(3));
            else if (line[0] == "add") made = pm::apply<pm::op::add>(read(2), read(3));
            else if (line[0] == "relu") made = pm::apply<pm::op::relu>(read(2));
            else if (line[0] == "output") outputs.push_back(made);
            else
                throw pm::error(pm::errc::unsupported_op, "text",
                                "\"" + line[1] + "\" is made by " + line[0]);
        }
        return outputs;
    }

private:
    static pm::any_tensor weight(const std::vector<std::string>& line) {
        pm::shape extent;
        std::vector<float> values;
        std::size_t at = 2;
        for (; line[at] != ":"; ++at) extent.push_back(std::stoi(line[at]));
        while (++at < line.size()) values.push_back(std::stof(line[at]));
        return pm::make_constant<float>(extent, std::span<const float>(values));
    }

    std::vector<std::vector<std::string>> lines_;
};

pm::model load(const std::string& text, const pm::context& home,
               const pm::load_options& options = {}) {
    return pm::model::from_builder(std::make_shared<text_builder>(text), options, home);
}
pm::any_tensor rows(const pm::context& home, std::int64_t n) {
    std::vector<float> values;
    for (std::int64_t i = 0; i < 3 * n; ++i) values.push_back(float(i % 5) - 1);
    return pm::from_bytes(pm::dtype::f32, {n, 3}, std::as_bytes(std::span(values)), home);
}

}  // namespace

TEST_CASE("builder: a made-up format is loaded, run and recorded by `model`, wherever it runs") {
    for (const pm::context& home : {pm::context(pm::host_only{}), pm::context()}) {
        const pm::model m = load(two_layers, home);
        CHECK(m.inputs()[0].text() == "f32 (n, 3)");
        CHECK(m.outputs()[0].dtype == pm::dtype::f32);
        for (const std::int64_t n : {1, 4}) {
            const pm::any_tensor x = rows(home, n);
            const std::vector<float> in = pm::to_vector<float>(x);
            std::vector<float> expected;
            const float w[3][2] = {{1, -2}, {3, -4}, {5, -6}}, b[2] = {-1, 0.5f};
            for (std::size_t i = 0; i < in.size(); i += 3)
                for (int k = 0; k < 2; ++k)
                    expected.push_back(std::max(0.0f, in[i] * w[0][k] + in[i + 1] * w[1][k] +
                                                          in[i + 2] * w[2][k] + b[k]));
            CHECK(pm::to_vector<float>(m(x)) == expected);
            const pm::shape shapes[] = {{n, 3}};
            CHECK(pm::to_vector<float>(m.compile(shapes).run({x})[0]) == expected);
            CHECK(m.infer_shapes(shapes).back().shape == pm::shape{n, 2});
        }
        CHECK(m.dump() == "text\nx f32 (1, 3)\ny f32 (1, 2)\n");
    }
}

TEST_CASE("builder: options and checks are those of every model") {
    const pm::context home(pm::host_only{});
    const pm::model half = load(two_layers, home, {.batch = 2, .compute = pm::dtype::f16});
    CHECK(half.inputs()[0].text() == "f32 (2, 3)");
    CHECK(half.outputs()[0].dims.size() == 2);
    CHECK(thrown_by([&] { half(rows(home, 3)); }).first == pm::errc::shape_mismatch);
    const pm::model sized = load(two_layers, home, {.dims = {{"n", 4}}});
    CHECK(sized.infer_shapes().back().shape == pm::shape{4, 2});
    CHECK(thrown_by([&] { load(two_layers, home, {.dims = {{"m", 4}}}); }).first ==
          pm::errc::invalid_argument);
    CHECK(thrown_by([&] { load("input x 3\ntan y x\noutput y\n", home); }).first ==
          pm::errc::unsupported_op);
    const pm::shape two[] = {{1, 3}, {1, 3}};
    CHECK(thrown_by([&] { half.infer_shapes(two); }).first == pm::errc::invalid_argument);
    CHECK(thrown_by([&] { half.compile(two); }).first == pm::errc::invalid_argument);
}
