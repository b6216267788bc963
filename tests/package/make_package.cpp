// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/front.hpp>
#include <pumice/model.hpp>
#include <pumice/package.hpp>

#include <tests/model/support.hpp>
#include <tests/support/scope.hpp>
#include <tests/support/skip.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace pm = pumice;

namespace {

std::filesystem::path mnist() {
    return std::filesystem::path(pumice_test::tests_dir()) / "data/models/mnist-12.onnx";
}
std::string bytes_of(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}
pm::any_tensor picture(const pm::context& home) {
    std::vector<float> v(784);
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = float(i * 31 % 256);
    return pm::from_bytes(pm::dtype::f32, {1, 1, 28, 28}, std::as_bytes(std::span(v)), home);
}

/// Whether f throws that, in these words.
template <class F>
bool refused(pm::errc code, std::string_view words, const F& f) {
    const auto [thrown, text] = pumice_test::thrown_by(f);
    if (thrown == code && text.find(words) != text.npos) return true;
    MESSAGE(text);
    return false;
}

}  // namespace

TEST_CASE("package: a model comes back from its file and from its folder with its bits") {
    const pumice_test::temporary_folder folder;
    const pm::model whole = pm::model::load(mnist());
    const pm::context home = whole.where();
    const std::vector<float> wanted = pm::to_vector<float>(whole.compile().run({picture(home)})[0]);
    pm::package_options o;
    o.name = "mnist";
    for (const pm::package_form form : {pm::package_form::file, pm::package_form::folder}) {
        o.form = form;
        const auto at = folder.path() / (form == pm::package_form::file ? "a.pumice" : "a");
        pm::package::save(at, whole, o);
        CHECK(pm::package::is_package(at));
        const pm::package p = pm::package::load(at);
        CHECK(p.name() == "mnist");
        REQUIRE(p.inputs().size() == 1);
        CHECK(p.inputs()[0].name == whole.inputs()[0].name);
        CHECK(p.inputs()[0].shape == pm::shape{1, 1, 28, 28});
        CHECK(p.outputs()[0].name == whole.outputs()[0].name);
        CHECK(p.outputs()[0].shape == pm::shape{1, 10});
        CHECK(pm::to_vector<float>(p.run({picture(home)})[0]) == wanted);
        CHECK(pm::package::check(at).weight_bytes > 20000);
    }
    CHECK(!pm::package::is_package(mnist()));
    o.form = pm::package_form::file;
    pm::package::save(folder.path() / "b.pumice", pm::model::load(mnist()), o);
    CHECK(bytes_of(folder.path() / "a.pumice") == bytes_of(folder.path() / "b.pumice"));
    for (const char* name : {"partition_0/graph.json", "partition_0/weights.bin", "package.index"})
        CHECK(std::filesystem::exists(folder.path() / "a" / name));
}

TEST_CASE("package: of a function, with constants of every layout, in every type") {
    const pumice_test::temporary_folder folder;
    for (const pm::context& home : {pm::context(pm::host_only{}), pm::context()}) {
        std::vector<float> v(42);
        for (std::size_t i = 0; i < v.size(); ++i) v[i] = float(i * i % 23);
        const pm::any_tensor all =
            pm::from_bytes(pm::dtype::f32, {42}, std::as_bytes(std::span(v)), home);
        const std::int64_t turned[] = {1, 0};
        const pm::slice part[] = {{3, 39, 1}}, back[] = {{}, {std::nullopt, std::nullopt, -1}};
        const pm::any_tensor odd =
            pm::slice_view(pm::permute_dims(pm::reshape(pm::slice_view(all, part), {4, 9}), turned),
                           back);
        const pm::any_tensor whole = pm::astype(pm::reshape(all, {6, 7}), pm::dtype::i16),
                             empty = pm::zeros(pm::dtype::f32, {0, 4}, home),
                             small = pm::astype(pm::slice_view(all, part), pm::dtype::u4);
        const pm::any_tensor made[] = {odd, whole, empty, small};
        pm::eval(made);
        const pm::executable e =
            pm::trace(home, std::vector<pm::executable::value>{{pm::dtype::f32, {9, 4}}},
                      [&](std::span<const pm::any_tensor> t) {
                          return std::vector{
                              pm::any_tensor(t[0] * 2.5 + odd),
                              pm::any_tensor(pm::astype(whole, pm::dtype::f32) * 3.0),
                              pm::concat(std::vector{t[0], empty}, 0),
                              pm::any_tensor(pm::astype(small, pm::dtype::f32) * 2.0)};
                      });
        const pm::any_tensor x = pm::full(pm::dtype::f32, {9, 4}, 3, home);
        pm::package_options o;
        o.inputs = {"x"};
        const auto at = folder.path() / "f.pumice";
        pm::package::save(at, e, o);
        const pm::package p = pm::package::load(at, home);
        CHECK(p.inputs()[0].name == "x");
        CHECK(p.outputs()[3].name == "output3");
        const auto expected = e.run({x}), got = p.run({x});
        for (std::size_t i = 0; i < expected.size(); ++i)
            CHECK(pm::to_vector<float>(got[i]) == pm::to_vector<float>(expected[i]));
    }
}

TEST_CASE("package: a typed function that is compiled, and its package saved again, are one") {
    const pumice_test::temporary_folder folder;
    const pm::matrix<float> w = pm::ones<float>({64, 32}), x = pm::ones<float>({8, 64});
    const auto f =
        pm::compile([&](const pm::matrix<float>& a) { return pm::relu(pm::matmul(a, w) - 1.0f); });
    const pm::vector<float> wanted = pm::sum(f(x), pm::axis<1>);
    const auto one = folder.path() / "one", two = folder.path() / "two";
    pm::package::save(one, f.get(x));
    const pm::package p = pm::package::load(one);
    const pm::matrix<float> y = p.run({x})[0].as<pm::matrix<float>>();
    CHECK(pm::vector<float>(pm::sum(y, pm::axis<1>)).to_vector() == wanted.to_vector());
    pm::package::save(two, p.recorded());
    CHECK(bytes_of(one) == bytes_of(two));
    pm::package_options o;
    o.outputs = {"a", "b"};
    CHECK(refused(pm::errc::invalid_argument, "2 names for 1 outputs",
                  [&] { pm::package::save(one, f.get(x), o); }));
}

namespace one {
PUMICE_OP(bump, 1, pm::rules::numeric, "", x + T(1));
}  // namespace one
namespace two {
PUMICE_OP(bump, 1, pm::rules::numeric, "", x + T(100));
PUMICE_OP(square, 1, pm::rules::numeric, "", x* x* x);
PUMICE_OP(add, 2, pm::rules::numeric, "", x* y);
}  // namespace two

TEST_CASE("package: ops are those of the same name and text, the program's and the library's") {
    const pumice_test::temporary_folder folder;
    const auto at = folder.path() / "f.pumice";
    using list = pm::vector<float>;
    const list x = {2, 3};
    const pm::package_names all{
        .ops = {&pm::op_info_of<one::op::bump>, &pm::op_info_of<two::op::bump>,
                &pm::op_info_of<two::op::square>, &pm::op_info_of<two::op::add>}};
    const auto check = [&](const auto& f, const std::vector<float>& wanted) {
        pm::package::save(at, pm::compile(f).get(x));
        const pm::package p = pm::package::load(at, pm::default_context(), all);
        CHECK(pm::to_vector<float>(p.run({x})[0]) == wanted);
        CHECK(refused(pm::errc::bad_file, "; put the one that was saved into package_names::ops",
                      [&] { pm::package::load(at); }));
    };
    check([](const list& v) { return list(two::square(v)); }, {8, 27});
    check([](const list& v) { return list(two::square(v) + pm::square(v)); }, {12, 36});
    check([](const list& v) { return list(pm::square(v) - two::square(v)); }, {-4, -18});
    check([](const list& v) { return list(one::bump(v) * two::bump(v)); }, {306, 412});
    check([](const list& v) { return list(two::bump(v) - one::bump(v) * 2.0f); }, {96, 95});
    check([](const list& v) { return list(two::add.reduce(v, pm::axis<0>, pm::keepdims)); }, {6});
    const pm::package_names some{.ops = {&pm::op_info_of<one::op::bump>}};
    pm::package::save(at, pm::compile([](const list& v) { return list(two::bump(v)); }).get(x));
    CHECK(refused(pm::errc::bad_file, "the op `bump` has another text here",
                  [&] { pm::package::load(at, pm::default_context(), some); }));
}

TEST_CASE("package: without Slang and without a cache a package has its kernels") {
    if (pm::default_context().device().type == pm::device_type::host)
        PUMICE_SKIP("vulkan-device", "the host device compiles no kernels");
    const pumice_test::temporary_folder folder;
    const auto at = folder.path() / "m.pumice", bare = folder.path() / "bare.pumice";
    const pm::model whole = pm::model::load(mnist());
    pm::package_options o;
    pm::package::save(at, whole, o);
    o.own_kernels = false;
    pm::package::save(bare, whole, o);
    CHECK(pm::package::contents(at).devices.size() == 1);
    CHECK(pm::package::contents(bare).devices.empty());
    const auto wanted = pm::to_vector<float>(whole.compile().run({picture(whole.where())})[0]);
    const test::variable no_slang("PUMICE_SLANG_LIBRARY", (folder.path() / "gone").string());
    const pm::cache_folder cache{(folder.path() / "cache").string()};
    const pm::context home(cache), other(cache);
    const pm::package p = pm::package::load(at, home);
    CHECK(pm::to_vector<float>(p.run({picture(home)})[0]) == wanted);
    CHECK(home.stats().slang_compiles == 0);
    CHECK(home.stats().slang_opens == 0);
    CHECK(refused(pm::errc::no_slang, "", [&] { pm::package::load(bare, other); }));
}

namespace {

/// The sum of squares of each row, by a workgroup a row.
pm::kernel row_energy() {
    pm::kernel_options how;
    how.inputs = {{.type = "T", .rank = 2, .fused = true}};
    how.results = [](auto in) {
        return std::vector{pm::kernel_value{in[0].dtype, {in[0].shape[0]}}};
    };
    how.scalars = {pm::dtype::f32};
    how.outputs = {{.type = "T"}};
    how.grid = [](auto, auto out) { return pm::shape{64, out[0].shape[0]}; };
    how.group = {64};
    how.host = [](const pm::kernel_arguments& a) {
        const auto x = a.inputs[0].as<float>(), y = a.outputs[0].as<float>();
        for (float& sum : y) sum = 0;
        for (std::size_t i = 0, columns = x.size() / y.size(); i < x.size(); ++i)
            y[i / columns] += a.scalars[0].as<float>() * x[i] * x[i];
    };
    return {"row_energy", R"(
groupshared float part[groupX];

void row_energy<X : IInput<T>>(uint3 thread, X x, Output<T> y, float scale)
{
    uint row = thread.y, t = thread.x;
    float sum = 0;
    for (uint c = t; c < x.shape(1); c += groupX) sum += x[row, c] * x[row, c];
    part[t] = sum;
    for (uint n = groupX / 2; n > 0; n /= 2)
    {
        GroupMemoryBarrierWithGroupSync();
        if (t < n) part[t] += part[t + n];
    }
    if (t == 0) y[row] = scale * part[0];
}
)",
            how};
}

/// Bytes of the process's that are there, those of mapped files among them.
std::int64_t resident() {
    std::ifstream status("/proc/self/status");
    std::int64_t sum = 0;
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("RssAnon:") || line.starts_with("RssFile:"))
            sum += std::stoll(line.substr(8)) * 1024;
    return sum;
}

}  // namespace

TEST_CASE("package: kernels of the model's come along as compute nodes, with all of their calls") {
    const pumice_test::temporary_folder folder;
    const auto at = folder.path() / "k.pumice";
    const pm::context home;
    const pm::any_tensor x = pm::arange(pm::dtype::f32, 0, 96, 1, home);
    std::vector<float> wanted;
    {
        const pm::kernel k = row_energy();
        const pm::executable e =
            pm::trace(home, std::vector<pm::executable::value>{{pm::dtype::f32, {96}}},
                      [&](std::span<const pm::any_tensor> t) {
                          const pm::any_tensor a = k(pm::reshape(t[0] * 0.5, {8, 12}), 0.25f),
                                               b = k(pm::reshape(t[0], {4, 24}), 0.25f);
                          return std::vector{
                              pm::any_tensor(pm::concat(std::vector{a, b}, 0) + 1.0)};
                      });
        wanted = pm::to_vector<float>(e.run({x})[0]);
        pm::package::save(at, e);
        pm::package::save(folder.path() / "again", e);
        CHECK(bytes_of(at) == bytes_of(folder.path() / "again"));
    }
    REQUIRE(wanted.size() == 12);
    CHECK(pm::package::contents(at).compute_nodes == std::vector<std::string>{"row_energy"});
    if (home.device().type == pm::device_type::host) {
        CHECK(refused(pm::errc::unsupported, "row_energy",
                      [&] { pm::package::load(at, home).run({x}); }));
        pm::package_names names;
        names.kernels = {row_energy().get()};
        CHECK(pm::to_vector<float>(pm::package::load(at, home, names).run({x})[0]) == wanted);
        return;
    }
    const test::variable no_slang("PUMICE_SLANG_LIBRARY", (folder.path() / "gone").string());
    const pm::context bare(pm::cache_folder{(folder.path() / "cache").string()});
    const pm::package p = pm::package::load(at, bare);
    const std::vector<float> counted = pm::to_vector<float>(x);
    const pm::any_tensor there =
        pm::from_bytes(pm::dtype::f32, {96}, std::as_bytes(std::span(counted)), bare);
    CHECK(pm::to_vector<float>(p.run({there})[0]) == wanted);
    CHECK(bare.stats().slang_compiles == 0);
}

// 1 GiB in the host's own run; in the others less, which takes less long to write.
TEST_CASE("package: weights of 1 GiB are there in 50 ms on the host, and take no memory") {
    const pumice_test::temporary_folder folder;
    const auto at = folder.path() / "large.pumice";
    const bool own_run = pm::default_context().device().type == pm::device_type::host;
    const std::int64_t rows = own_run ? 1 << 16 : 1 << 12;
    constexpr std::int64_t columns = 4096;
    {
        const pm::context home(pm::host_only{});
        const pm::any_tensor w = pm::zeros(pm::dtype::f32, {rows, columns}, home);
        pm::eval(std::span(&w, 1));
        pm::package::save(at,
                          pm::trace(home, std::vector<pm::executable::value>{{pm::dtype::i64, {3}}},
                                    [&](std::span<const pm::any_tensor> t) {
                                        return std::vector{
                                            pm::any_tensor(pm::take(w, t[0], 0) + 1.0)};
                                    }));
    }
    const auto end = static_cast<std::int64_t>(std::filesystem::file_size(at));
    REQUIRE(end >= rows * columns * 4);
    {  // a last row that is told from the others
        std::fstream file(at, std::ios::binary | std::ios::in | std::ios::out);
        const std::vector<float> row(columns, 7);
        file.seekp(end - columns * 4);
        file.write(reinterpret_cast<const char*>(row.data()), columns * 4);
    }
    const pm::context home(pm::host_only{});
    double least = 1e9;
    for (int i = 0; i < 3; ++i) {
        const std::int64_t before = resident();
        const auto begin = std::chrono::steady_clock::now();
        const pm::package p = pm::package::load(at, home);
        const std::chrono::duration<double, std::milli> took =
            std::chrono::steady_clock::now() - begin;
        const std::int64_t growth = resident() - before;
        least = std::min(least, took.count());
        CHECK(growth < 8 << 20);
        const std::vector<std::int64_t> asked{0, rows / 2, rows - 1};
        const auto y =
            pm::to_vector<float>(p.run({pm::from_bytes(pm::dtype::i64, {3},
                                                       std::as_bytes(std::span(asked)), home)})[0]);
        REQUIRE(std::ssize(y) == 3 * columns);
        CHECK(y[0] == 1);
        CHECK(y[columns] == 1);
        CHECK(y[2 * columns] == 8);
        CHECK(y.back() == 8);
    }
    CHECK(least <= 50);
}
