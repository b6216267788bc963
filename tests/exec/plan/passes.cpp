// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Passes run in order and by name, and what the graph computes is the same before and after each.
#include <pumice/exec/host_engine.hpp>
#include <pumice/exec/plan/passes.hpp>
#include <pumice/policy/passes.hpp>

#include <tests/exec/random_programs.hpp>
#include <tests/support/thrown.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <map>
#include <numeric>

namespace pm = pumice;

namespace {

using bytes = std::vector<std::byte>;
using test::thrown_by;

/// What the kernels' references make of each kept node, without fusion; of a view, what it looks
/// at.
std::map<const pm::node*, bytes> computed(const pm::op_graph& graph) {
    pm::array_list<pm::kernel_group> each;  // node alone, or with the other results of its call
    std::map<const void*, std::size_t> calls;
    for (pm::graph_node* n : graph.order()) {
        if (pm::is_view(*n)) continue;
        const auto* k = n->op().get_if<pm::kernel_op>();
        if (k && !calls.emplace(k->call.get(), each.size()).second) {
            each[calls[k->call.get()]].outputs.push_back(n);
            continue;
        }
        each.push_back({n->op().is<pm::elementwise_op>() ? nullptr : n, {n}, {}});
    }
    pm::plan_builder b;
    pm::lower(b, each, graph);
    std::vector<bytes> made(b.nodes.size());
    std::vector<std::byte*> memory(b.nodes.size());
    for (std::size_t v = 0; v < b.nodes.size(); ++v) {
        const pm::graph_node& n = *b.nodes[v];
        if (n.is_given()) {
            memory[v] = static_cast<pm::host_storage*>(n.what->data.get())->memory.data() +
                        pm::byte_count(n.type(), pm::base_of(*n.what));
        } else {
            made[v].resize(static_cast<std::size_t>(b.made.values[v].bytes()));
            memory[v] = made[v].data();
        }
    }
    pm::array_list<pm::scalar> numbers;
    for (const auto& s : b.scalars.sources())
        numbers.push_back(s.n->op.get_if<pm::elementwise_op>()->scalars[s.index]);
    for (const pm::plan_step& s : b.made.steps) {
        pm::host_buffers buffers{{}, numbers};
        for (const int v : s.buffers) buffers.memory.push_back(memory[static_cast<std::size_t>(v)]);
        pm::solve_on_host(s.what, buffers);
    }
    std::map<const pm::node*, bytes> all;
    for (const pm::graph_node* n : graph.order()) {
        if (!n->kept) continue;
        const pm::graph_node* base = n;
        while (!base->is_given() && pm::is_view(*base)) base = base->inputs[0];
        if (base->is_given()) continue;
        all[n->origin] = made[static_cast<std::size_t>(b.find(base))];
    }
    return all;
}

}  // namespace

TEST_CASE("passes: 200 random graphs compute the same before and after each") {
    std::map<const pm::node*, bytes> before;
    std::size_t nodes = 0;
    int passes = 0, wrong = 0, shrunk = 0, unruly = 0;
    const pm::context home(pm::host_only{},
                           pm::watch_passes{[&](const pm::op_graph& g, std::string_view pass) {
                               unruly += !pm::verify(g).empty();
                               std::map<const pm::node*, bytes> now = computed(g);
                               if (!pass.empty()) {
                                   ++passes;
                                   wrong += now != before;
                                   shrunk += g.order().size() < nodes;
                               }
                               before = std::move(now);
                               nodes = g.order().size();
                           }});
    for (unsigned seed = 1; seed <= 200; ++seed) {
        // The same program twice over the same tensors, so that much is equal.
        test::program_kind kind;
        kind.evaluate = false;
        std::mt19937 random(seed);
        const test::variables start = test::beginning(random, home, kind);
        std::mt19937 again = random;
        test::variables all = start, second = start;
        test::assign(random, all, kind);
        test::assign(again, second, kind);
        all.insert(all.end(), second.begin(), second.end());
        pm::eval(all);
        const pm::context plain(pm::host_only{}, pm::fusion::none{});
        CHECK(test::differences(test::variables(all.begin(), all.begin() + 3),
                                test::run(plain, seed, kind)) == 0);
    }
    CHECK(passes >= 200);
    CHECK(wrong == 0);
    CHECK(unruly == 0);
    CHECK(shrunk >= 100);
    MESSAGE(passes, " passes, ", shrunk, " of which left fewer nodes");
}

TEST_CASE("passes: the library's, then the user's in order; each may be left out by name") {
    std::string seen;
    const auto names = pm::watch_passes{
        [&](const pm::op_graph&, std::string_view pass) { seen += std::string(pass) + ";"; }};
    const pm::graph_pass one{"one", [](pm::op_graph&) {}}, two{"two", [](pm::op_graph&) {}};
    const auto run = [&](const pm::context& home) {
        seen.clear();
        const pm::matrix<float> x = pm::ones<float>({2, 2}, home), y = pm::matmul(x, x) + x;
        CHECK(y.to_vector() == std::vector<float>(4, 3));
        return seen;
    };
    using host = pm::host_only;
    CHECK(run(pm::context(host{}, names, one, two)) == ";merge_equal;one;two;");
    CHECK(run(pm::context(host{}, names, two, one, pm::without_pass{"merge_equal"})) ==
          ";two;one;");
    CHECK(run(pm::context(host{}, names, one, two, pm::without_pass{"one"})) ==
          ";merge_equal;two;");
    CHECK(run(pm::context(host{}, names, one, pm::fusion::none{})).find("merge_equal") ==
          std::string::npos);
}

TEST_CASE("passes: what one throws ends the evaluation, and the tensors stay lazy") {
    bool fails = true;
    const pm::graph_pass shaky{"shaky", [&](pm::op_graph&) {
                                   if (fails) throw std::runtime_error("not today");
                               }};
    const pm::context home(pm::host_only{}, shaky);
    const pm::matrix<float> x = pm::ones<float>({2, 2}, home), y = pm::matmul(x, x);
    CHECK_THROWS_AS(y.to_vector(), std::runtime_error);
    fails = false;
    CHECK(y.to_vector() == std::vector<float>(4, 2));
}

TEST_CASE("passes: a write to one of two equal results does not show in the other") {
    const pm::context home(pm::host_only{});
    const pm::matrix<float> x = pm::ones<float>({2, 2}, home), b = pm::matmul(x, x);
    pm::matrix<float> a = pm::matmul(x, x);
    pm::eval(a, b);
    CHECK(a.get()->data == b.get()->data);
    a.host_mut()[0] = 7;
    CHECK(a.to_vector() == std::vector<float>{7, 2, 2, 2});
    CHECK(b.to_vector() == std::vector<float>(4, 2));
    a += 1.0f;
    CHECK(b.to_vector() == std::vector<float>(4, 2));
}

TEST_CASE("passes: a result in whose place one puts what it makes, or a view of that") {
    const auto made = [](pm::op_graph& graph, const pm::graph_node& n) -> pm::graph_node& {
        return graph.add(n.type(), n.extent(),
                         pm::elementwise_op{*n.op().get_if<pm::elementwise_op>()}, n.inputs);
    };
    const auto replaces = [&](pm::op_graph& graph) {
        for (pm::graph_node* n : graph.order())
            if (n->op().get_if<pm::elementwise_op>()) graph.replace(*n, made(graph, *n));
    };
    const auto shows = [&](pm::op_graph& graph) {
        for (pm::graph_node* n : graph.order())
            if (n->op().get_if<pm::elementwise_op>() && n->extent().rank() == 1) {
                pm::graph_node& other = made(graph, *n);
                graph.change(*n, pm::view_op{{0}, {0}, {1}}, {&other});
            }
    };
    const std::function<void(pm::op_graph&)> passes[] = {replaces, shows};
    for (const auto& pass : passes) {
        const pm::context home(pm::host_only{}, pm::graph_pass{"mine", pass});
        std::vector<float> numbers(100'000);
        std::iota(numbers.begin(), numbers.end(), 0.0f);
        const pm::any_tensor x = pm::from_span<float>({100'000}, numbers, home);
        const auto f = [](const pm::any_tensor& a) { return pm::sqrt(a) + 1; };
        CHECK(pm::to_vector<float>(f(x))[4] == 3);
        CHECK(pm::to_vector<float>(f(f(x)))[81] == doctest::Approx(1 + std::sqrt(10.0)));
        CHECK(pm::to_vector<float>(pm::compile(f)(x))[4] == 3);
        const pm::any_tensor y = f(x), z = f(y);
        pm::eval(y, z);
        CHECK(pm::to_vector<float>(y)[81] == 10);
        CHECK(pm::to_vector<float>(z)[81] == doctest::Approx(1 + std::sqrt(10.0)));
    }
}

namespace {

/// 2, 3 and 5 times a row and its sum, by one context: what was wrong, and how many plans it took.
struct calls_by_pass {
    int wrong = 0;
    std::uint64_t plans = 0;

    template <class Pass>
    explicit calls_by_pass(Pass pass) {
        const pm::context home(pm::host_only{}, pm::graph_pass{"mine", pass});
        const pm::any_tensor x = pm::from_span<float>({3}, std::vector<float>{1, 2, 3}, home);
        for (const float k : {2.0f, 3.0f, 5.0f, 3.0f}) {
            const pm::any_tensor y = pm::exp(pm::log(x) * k) + pm::sum(x);
            const std::vector<float> got = pm::to_vector<float>(y);
            for (std::size_t i = 0; i < 3; ++i)
                wrong += std::abs(got[i] - std::pow(float(i + 1), k) - 6) > 1e-3f * got[i];
        }
        plans = home.stats().plans;
    }
};
/// Whether a node is x times a number, which is `number` then.
bool scales(const pm::graph_node& n, pm::scalar& number) {
    const auto* e = n.op().get_if<pm::elementwise_op>();
    if (!e || e->scalars.size() != 1 ||
        e->body->code.back().op != &pm::op_info_of<pm::op::multiply>)
        return false;
    number = e->scalars[0];
    return true;
}

}  // namespace

TEST_CASE("passes: numbers that one copies stay those of each call, and one plan serves all") {
    const calls_by_pass puts_back([](pm::op_graph& g) {
        for (pm::graph_node* n : g.order())
            if (const auto* e = n->op().get_if<pm::elementwise_op>())
                g.change(*n, pm::elementwise_op{*e}, n->inputs);
    });
    CHECK(puts_back.wrong == 0);
    CHECK(puts_back.plans == 1);
    // To another node: exp(log(x) * k) by one program.
    const calls_by_pass joins([](pm::op_graph& g) {
        pm::scalar k;
        for (pm::graph_node* n : g.order())
            if (const auto* e = n->op().get_if<pm::elementwise_op>();
                e && e->body->code.back().op == &pm::op_info_of<pm::op::exp> &&
                scales(*n->inputs[0], k)) {
                using code = pm::instruction::code;
                pm::program p;
                const std::uint16_t x = p.push({code::leaf, pm::dtype::f32}),
                                    by = p.push({code::scalar, pm::dtype::f32}),
                                    both = p.push({code::apply,
                                                   pm::dtype::f32,
                                                   0,
                                                   {x, by},
                                                   &pm::op_info_of<pm::op::multiply>});
                p.outputs.push_back(p.push({code::apply,
                                            pm::dtype::f32,
                                            0,
                                            {both},
                                            &pm::op_info_of<pm::op::exp>}));
                g.change(*n, pm::elementwise_op{std::make_shared<const pm::program>(p), {k}, {}},
                         {n->inputs[0]->inputs[0]});
            }
    });
    CHECK(joins.wrong == 0);
    CHECK(joins.plans == 1);
}

TEST_CASE("passes: where one reads a number, a plan is for these numbers only") {
    const calls_by_pass reads([](pm::op_graph& g) {
        pm::scalar k;
        for (pm::graph_node* n : g.order())
            if (scales(*n, k)) {  // a number of its own, made of the call's
                pm::elementwise_op twice = *n->op().get_if<pm::elementwise_op>();
                twice.scalars[0] = pm::scalar(k.as<float>() * 1.0f);
                g.change(*n, std::move(twice), n->inputs);
            }
    });
    CHECK(reads.wrong == 0);
    CHECK(reads.plans == 3);
    const calls_by_pass drops([](pm::op_graph& g) {
        pm::scalar k;
        for (pm::graph_node* n : g.order())
            if (scales(*n, k) && k.as<float>() == 1) g.replace(*n, *n->inputs[0]);
    });
    CHECK(drops.wrong == 0);
    CHECK(drops.plans == 3);
}

TEST_CASE("passes: what the library looks for ties no plan to numbers") {
    const pm::context home(pm::host_only{}, pm::graph_pass{"nothing", [](pm::op_graph&) {}});
    const auto x = pm::zeros(pm::dtype::f32, {8}, home);
    const auto u = pm::full(pm::dtype::f32, {3}, 1, home);
    const auto where = pm::arange(pm::dtype::i64, 0, 3, 1, home);
    pm::eval({x, u, where});
    const std::uint64_t before = home.stats().plans;
    for (const double rate : {0.5, 0.25, 0.125}) {
        const auto y = pm::scatter_elements(x, where, pm::apply<pm::op::multiply>(u, rate));
        CHECK(pm::to_vector<float>(y)[2] == static_cast<float>(rate));
    }
    CHECK(home.stats().plans == before + 1);
}

TEST_CASE("passes: a number that is taken to another graph is refused") {
    const pm::context home(pm::host_only{}), other(pm::host_only{});
    const pm::any_tensor far = pm::full(pm::dtype::f32, {9}, 2, other);
    const pm::context takes(pm::host_only{},
                            pm::graph_pass{
                                "takes", [&](pm::op_graph& g) {
                                    for (pm::graph_node* n : g.order())
                                        if (const auto* e = n->op().get_if<pm::elementwise_op>();
                                            e && !e->scalars.empty() && n->inputs.size() == 1) {
                                            const pm::any_tensor t(pm::make_node(n->type(),
                                                                                 far.shape(),
                                                                                 pm::elementwise_op{
                                                                                     *e},
                                                                                 {far.get()}));
                                            pm::to_vector<float>(pm::apply<pm::op::exp>(t));
                                        }
                                }});
    const auto x = pm::zeros(pm::dtype::f32, {9000}, takes);
    CHECK(thrown_by([&] { pm::eval(pm::apply<pm::op::multiply>(x, 3.0)); }).code() ==
          pm::errc::invalid_argument);
}

TEST_CASE("passes: a number of a pass's own, and one that is read when its graph is gone") {
    pm::scalar kept;
    const pm::graph_pass doubles{"doubles", [&](pm::op_graph& g) {
                                     for (pm::graph_node* n : g.order())
                                         if (scales(*n, kept)) {
                                             pm::elementwise_op other =
                                                 *n->op().get_if<pm::elementwise_op>();
                                             other.scalars[0] = pm::scalar(4.0f);
                                             g.change(*n, std::move(other), n->inputs);
                                         }
                                 }};
    const pm::context home(pm::host_only{}, doubles);
    const pm::any_tensor x = pm::ones<float>({3}, home);
    for (const float k : {2.0f, 3.0f})
        CHECK(pm::to_vector<float>(x * k + pm::sum(x)) == std::vector<float>(3, 7));
    CHECK(home.stats().plans == 1);
    CHECK(test::code_of([&] { kept.as<float>(); }) == pm::errc::invalid_argument);
}

TEST_CASE("passes: one is shown a lone node too, of whatever size, as explain says") {
    int seen = 0;
    const pm::context home(pm::host_only{},
                           pm::graph_pass{"counts", [&](pm::op_graph& g) {
                                              seen += static_cast<int>(g.order().size());
                                          }});
    for (const std::int64_t n : {3, 9000}) {
        const pm::vector<float> x = pm::ones<float>({n}, home);
        pm::eval(x);
        seen = 0;
        const pm::vector<float> y = x * x;
        pm::eval(y);
        CHECK(seen == (n < 4096 ? 0 : 1));  // what is little was computed when it was made
        const pm::any_tensor z = pm::exp(pm::any_tensor(x));
        pm::eval(z);
        CHECK(seen == (n < 4096 ? 1 : 2));
    }
}

TEST_CASE("passes: each call of a user's kernel is made") {
    int calls = 0;
    const pm::kernel k("tick",
                       "void tick(uint3 t, Input<F32> x, Output<F32> y) { y[t.x] = x[t.x]; }",
                       {.inputs = {{}}, .host = [&calls](const pm::kernel_arguments& a) {
                            ++calls;
                            a.outputs[0].as<float>()[0] = a.inputs[0].as<float>()[0];
                        }});
    const pm::context home(pm::host_only{});
    const pm::any_tensor x = pm::ones<float>({1}, home);
    const std::vector<pm::any_tensor> both{k(x), k(x)};
    pm::eval(both);
    CHECK(calls == 2);
}

TEST_CASE("passes: one that gets a shape wrong is named") {
    const pm::graph_pass wrong{"transpose", [](pm::op_graph& g) {
                                   for (pm::graph_node* n : g.order())
                                       if (n->op().is<pm::matmul_op>())
                                           g.change(*n, pm::matmul_op{},
                                                    {n->inputs[1], n->inputs[0]});
                               }};
    const pm::context home(pm::host_only{}, wrong);
    const pm::matrix<float> x = pm::ones<float>({2, 3}, home), w = pm::ones<float>({3, 4}, home),
                            y = pm::matmul(x, w);
    const pm::error e = thrown_by([&] { pm::eval(y); });
    CHECK(e.code() == pm::errc::invalid_argument);
    CHECK(std::string(e.what()).find("after transpose") != std::string::npos);
    REQUIRE(!e.reasons().empty());
    CHECK(e.reasons()[0].find("(matmul)") != std::string::npos);
}

TEST_CASE("passes: one that makes a node read what is made of it is an error, and no hang") {
    for (const int kind : {0, 1, 2, 3}) {
        CAPTURE(kind);
        const pm::graph_pass loop{"loop", [=](pm::op_graph& g) {
                                      pm::graph_node &first = *g.order()[0],
                                                     &last = *g.order().back();
                                      if (kind == 0) return g.replace(first, last);
                                      const auto op = [&]() -> pm::operation {
                                          if (kind == 1) return pm::copy_op{first.layout()};
                                          if (kind == 3) return pm::reshape_op{};
                                          return pm::view_op{{0, 0}, {0, 1}, {1, 1}};
                                      };
                                      g.change(first, op(), {&last});
                                      if (kind > 1) g.change(last, op(), {&first});
                                  }};
        const pm::context home(pm::host_only{}, loop);
        const pm::matrix<float> x = pm::ones<float>({2, 2}, home), y = pm::matmul(x, x),
                                z = pm::matmul(y, x);
        const pm::error e = thrown_by([&] { pm::eval(z); });
        CHECK(e.code() == pm::errc::invalid_argument);
        const std::string text = e.what();
        CHECK_MESSAGE(text.find("the graph is wrong after loop: node ") != std::string::npos, text);
        CHECK_MESSAGE(text.find(" of shape (2, 2) reads what is made of it") != std::string::npos,
                      text);
    }
}

TEST_CASE("passes: a result is a tensor that is there, shown as it lies") {
    // x times the identity is x, whose rows of a slice are not packed.
    const pm::graph_pass identity{"identity", [](pm::op_graph& g) {
                                      for (pm::graph_node* n : g.order())
                                          if (n->op().is<pm::matmul_op>())
                                              g.replace(*n, *n->inputs[0]);
                                  }};
    const pm::context home(pm::host_only{}, identity);
    const pm::matrix<float> all = pm::matrix<float>(pm::reshape(pm::arange<float>(0, 12, 1, home),
                                                                {3, 4})),
                            eye = pm::eye<float>(2, -1, 0, home);
    pm::matrix<float> packed =
                          pm::matrix<float>(pm::view(all, pm::slice{0, 2}, pm::slice{0, 2}) + 0.0f),
                      sliced = pm::view(all, pm::slice{1, 3}, pm::slice{2, 4});
    pm::eval(packed);
    pm::eval(sliced);
    for (const bool read_too : {false, true})
        for (pm::matrix<float> x : {packed, sliced}) {
            pm::matrix<float> y = pm::matmul(x, eye), z = y + 1.0f;
            if (read_too) pm::eval(y, z);
            else pm::eval(y);
            CHECK(y.to_vector() == x.to_vector());
            CHECK(z.to_vector() == pm::matrix<float>(x + 1.0f).to_vector());
            const std::vector<float> before = x.to_vector();
            y += 1.0f;
            pm::eval(y);
            CHECK(x.to_vector() == before);
        }
}

TEST_CASE(
    "passes: what could not be sorted or described is refused by the pass's and node's name") {
    using nodes = pm::array_list<pm::graph_node*>;
    const auto refused = [](const char* words,
                            pm::callback<void(pm::op_graph&, pm::graph_node&)> f) {
        const pm::graph_pass bad{"bad", [=](pm::op_graph& g) {
                                     for (pm::graph_node* n : g.order())
                                         if (n->op().is<pm::reduce_op>()) return f(g, *n);
                                 }};
        const pm::context home(pm::host_only{}, bad);
        const pm::any_tensor x = pm::ones<float>({2, 3}, home);
        pm::eval(x);
        const pm::any_tensor y = pm::sum(pm::exp(x), 1);
        const pm::error e = thrown_by([&] { pm::eval(y); });
        CHECK(e.code() == pm::errc::invalid_argument);
        const std::string text = e.what();
        CHECK_MESSAGE(text.find("the graph is wrong after bad") != std::string::npos, text);
        CHECK_MESSAGE(text.find(words) != std::string::npos, "wanted: ", words, "\ngot: ", text);
        CHECK_FALSE(y.get()->realised());
    };
    refused("(sum) has null as its input 0",
            [](pm::op_graph&, pm::graph_node& n) { n.inputs[0] = nullptr; });
    refused("(reshape) has 0 inputs", [](pm::op_graph& g, pm::graph_node& n) {
        g.change(*n.inputs[0], pm::reshape_op{}, {});
    });
    refused("(elementwise) has no program", [](pm::op_graph& g, pm::graph_node& n) {
        g.change(*n.inputs[0], pm::elementwise_op{}, n.inputs[0]->inputs);
    });
    refused("(kernel) calls no kernel",
            [](pm::op_graph& g, pm::graph_node& n) { g.change(n, pm::kernel_op{}, n.inputs); });
    refused("is there: a pass may replace it, not change it",
            [](pm::op_graph& g, pm::graph_node& n) {
                pm::graph_node& x = *n.inputs[0]->inputs[0];
                g.change(x, pm::copy_op{x.layout()}, nodes{&g.add_copy(x)});
            });
    refused("(exp) of type f32 and shape (2, 3) is replaced by one of f32 and ()",
            [](pm::op_graph& g, pm::graph_node& n) {
                const pm::graph_node& e = *n.inputs[0];
                g.replace(*n.inputs[0],
                          g.add(e.type(), {}, pm::reduce_op{pm::reduction::max, {0, 1}}, e.inputs));
            });
    refused("is replaced by one of i64 and (2,)", [](pm::op_graph& g, pm::graph_node& n) {
        g.replace(n, g.add(pm::dtype::i64, n.extent(), pm::reduce_op{pm::reduction::argmax, {1}},
                           n.inputs));
    });
    refused("(multiply) has a program whose instruction 1 is f32, its scalar i32",
            [](pm::op_graph& g, pm::graph_node& n) {
                using code = pm::instruction::code;
                pm::program p;
                const std::uint16_t x = p.push({code::leaf, pm::dtype::f32}),
                                    two = p.push({code::scalar, pm::dtype::f32});
                p.outputs.push_back(p.push({code::apply,
                                            pm::dtype::f32,
                                            0,
                                            {x, two},
                                            &pm::op_info_of<pm::op::multiply>}));
                g.change(*n.inputs[0],
                         pm::elementwise_op{
                             std::make_shared<const pm::program>(p), {pm::scalar(2)}, {}},
                         n.inputs[0]->inputs);
            });
}

TEST_CASE("passes: errors that one throws name it, and one that there is not cannot be left out") {
    const pm::graph_pass picky{
        "picky", [](pm::op_graph&) { throw pm::error(pm::errc::unsupported, "here", "not this"); }};
    const pm::context home(pm::host_only{}, picky);
    const pm::matrix<float> x = pm::ones<float>({2, 2}, home), y = pm::matmul(x, x);
    const pm::error e = thrown_by([&] { pm::eval(y); });
    CHECK(e.code() == pm::errc::unsupported);
    CHECK(e.where() == "here");
    REQUIRE(e.reasons().size() == 1);
    CHECK(e.reasons()[0] == "thrown by the pass picky");

    const pm::error none =
        thrown_by([&] { pm::context{pm::host_only{}, picky, pm::without_pass{"no_such_pass"}}; });
    CHECK(none.code() == pm::errc::invalid_argument);
    const std::string text = none.what();
    CHECK(text.find("there is no pass no_such_pass") != std::string::npos);
    for (const char* name : {"merge_equal", "store_prologues", "picky"})
        CHECK(text.find(name) != std::string::npos);
}
