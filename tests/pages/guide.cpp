// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The programs of docs/reference/guide.md.
#include <tests/pages/shows.hpp>

#include <pumice/exchange/dlpack.hpp>
#include <pumice/exchange/npz.hpp>
#include <pumice/report.hpp>
#include <pumice/tensor/compare.hpp>

#include <filesystem>

namespace pm = pumice;

// clang-format off: lines as the pages show them

TEST_CASE("pages: when to evaluate") {
    // code: eval
    pm::matrix<float> u = pm::zeros<float>({64, 64});
    for (int step = 0; step < 100; ++step) {
        u = u * 0.5f + 1.0f;
        if (step % 10 == 9) pm::eval(u);  // ten steps a plan: the graph stays small, and is planned once
    }
    SHOWS("2", u(0, 0).item());  // asks for a value: waits
    // end
}

TEST_CASE("pages: what a name costs") {
    const pm::vector<float> x = {1, 2, 3};
    // code: names
    auto y = x * 2.0f;                     // an expression: nothing is stored, nothing runs
    pm::vector<float> z = y + y;           // y has a name: it is one operand
    pm::vector<float> w = (x * 2.0f) + 1;  // no names within: one kernel, nothing between
    pm::vector<float> v = z;               // another handle to the same node: no copy
    SHOWS("[7. 13. 19.]", v + w);
    // end
}

TEST_CASE("pages: views") {
    // code: views
    const pm::matrix<float> m = {{1, 2, 3}, {4, 5, 6}};
    auto t = pm::transpose(m);             // pm::tensor<float, ..., pm::strided>: m's memory
    auto column = m(pm::all, 1);           // likewise
    pm::matrix<float> dense = t;           // row-major, as its type says: a copy
    SHOWS("[[1. 4.] [2. 5.] [3. 6.]]", dense);
    SHOWS("[2. 5.]", column);
    // end
}

TEST_CASE("pages: axes") {
    const pm::tensor<float, pm::dims<3>> x = pm::ones<float>({2, 3, 4});
    // code: axes
    SHOWS("(2, 4)", pm::sum(x, pm::axis<1>).shape());
    SHOWS("(3,)", pm::sum(x, pm::axes<0, -1>).shape());
    SHOWS("(2, 1, 4)", pm::sum(x, pm::axis<1>, pm::keepdims).shape());
    SHOWS("(2, 4)", pm::sum(pm::any_tensor(x), 1).shape());  // numbers, where the rank is known at run time
    // end
}

TEST_CASE("pages: convolution") {
    const pm::any_tensor image = pm::full(pm::dtype::f32, {1, 4, 8, 8}, 1),
                         weight = pm::full(pm::dtype::f32, {6, 4, 3, 3}, 1),
                         depthwise = pm::full(pm::dtype::f32, {4, 1, 3, 3}, 1);
    // code: conv
    // image (N, C, H, W), weight (M, C / group, kH, kW); all fields, in this order, have defaults
    SHOWS("(1, 6, 6, 6)", pm::conv(image, weight).shape());
    SHOWS("(1, 6, 8, 8)", pm::conv(image, weight, {.pad_begin = {1, 1}, .pad_end = {1, 1}}).shape());
    SHOWS("(1, 6, 2, 2)", pm::conv(image, weight, {.stride = {2, 2}, .dilation = {2, 2}}).shape());
    SHOWS("(1, 4, 6, 6)", pm::conv(image, depthwise, {.group = 4}).shape());
    SHOWS("(1, 4, 4, 4)", pm::pool(image, {.what = pm::pooling::average, .window = {2, 2}, .stride = {2, 2}}).shape());
    SHOWS("(1, 4, 4, 4)", pm::pool(image, {.window = {3, 3}, .stride = {2, 2}, .ceil_mode = true}).shape());
    // end
}

TEST_CASE("pages: sorting") {
    // code: sorting
    const pm::vector<float> x = {3, 1, 2};
    SHOWS("[1. 2. 3.]", pm::sort(x));
    SHOWS("[3. 2. 1.]", pm::sort(x, pm::axis<0>, true));  // descending
    SHOWS("[1 2 0]", pm::argsort(x));                  // i64; equal elements keep their order
    const auto top = pm::top_k(x, 2);
    SHOWS("[3. 2.]", top.values);
    SHOWS("[0 2]", top.indices);
    SHOWS("[1. 2. 3.]", pm::take(x, pm::argsort(x)));
    // end
}

TEST_CASE("pages: scattering") {
    // code: scattering
    const pm::vector<float> x = {0, 0, 0, 0}, updates = {1, 2, 3};
    const pm::vector<std::int64_t> places = {1, 1, 3};
    SHOWS("[0. 2. 0. 3.]", pm::scatter_elements(x, places, updates));  // of equal places the last counts
    SHOWS("[0. 3. 0. 3.]", pm::scatter_elements(x, places, updates, pm::axis<0>, pm::scattering::sum));
    pm::vector<float> y = x;
    pm::at(y, places) += updates;
    SHOWS("[0. 2. 0. 3.]", y);
    // end
}

TEST_CASE("pages: recipes") {
    // code: recipes
    // Along one axis: the other has an extent of 1.
    const pm::vector<float> signal = {1, 2, 3, 4, 5}, window = {0.25f, 0.5f, 0.25f};
    const auto smooth = pm::conv(pm::reshape(signal, {1, 1, 1, 5}), pm::reshape(window, {1, 1, 1, 3}), {.pad_begin = {0, 1}, .pad_end = {0, 1}});
    SHOWS("[[[[1. 2. 3. 4. 3.5]]]]", smooth);

    // Batch normalisation of what a network has learnt, NCHW: arithmetic, fused into what makes x.
    const pm::tensor<float, pm::dims<4>> x = pm::reshape(pm::vector<float>{1, 2, 3, 4}, {1, 2, 1, 2});
    const auto of_channels = [](const pm::vector<float>& v) { return pm::reshape(v, {1, -1, 1, 1}); };
    const pm::vector<float> average = {1, 3}, variance = {1, 4}, scale = {2, 2}, shift = {0, 1};
    const auto y = (x - of_channels(average)) * of_channels(scale / pm::sqrt(variance)) + of_channels(shift);
    SHOWS("[[[[0. 2.]] [[1. 2.]]]]", y);

    // A quantile, between the two elements next to it.
    const pm::vector<float> sorted = pm::sort(pm::vector<float>{9, 1, 4, 2});
    const float at = 0.5f * 3;  // of 4 elements: q * (n - 1)
    const std::int64_t below = static_cast<std::int64_t>(at);
    SHOWS("3.", pm::lerp(sorted(below), sorted(below + 1), at - static_cast<float>(below)));

    // How many elements are in each of 4 bins of width 1.
    const pm::vector<float> values = {0.5f, 1.5f, 1.7f, 3.2f};
    const auto counts = pm::scatter_elements(pm::vector<int>{0, 0, 0, 0}, pm::astype<int>(values), pm::vector<int>{1, 1, 1, 1}, pm::axis<0>,
                                             pm::scattering::sum);
    SHOWS("[1 2 0 1]", counts);
    // end
}

TEST_CASE("pages: einsum") {
    const pm::matrix<float> a = {{1, 2}, {3, 4}}, b = {{1, 0}, {1, 1}};
    // code: einsum
    pm::matrix<float> product = pm::einsum("ij,jk->ik", a, b);
    pm::scalar_tensor<float> trace = pm::einsum("ii->", a);
    pm::matrix<float> outer = pm::einsum("i,j->ij", a[0], b[0]);
    SHOWS("[[3. 2.] [7. 4.]]", product);
    SHOWS("5.", trace);
    SHOWS("[[1. 0.] [2. 0.]]", outer);
    // end
}

TEST_CASE("pages: files") {
    const auto folder = std::filesystem::temp_directory_path() / "pumice_guide";
    std::filesystem::create_directory(folder);
    // code: npy
    const pm::matrix<float> x = {{1, 2}, {3, 4}};
    pm::save(folder / "x.npy", x * 2.0f);                     // evaluates; np.load reads it
    const auto y = pm::load<float, 2>(folder / "x.npy");      // a pm::matrix<float>, or an error that names the file
    const pm::any_tensor z = pm::load(folder / "x.npy");      // of whatever type and shape the file has
    SHOWS("[[2. 4.] [6. 8.]]", y);
    SHOWS("(2, 2)", z.shape());
    // end
    // code: npz
    pm::save_npz(folder / "all.npz", {{"weights", x}, {"bias", pm::vector<double>{1, 2}}}, pm::npz_entries::deflated);
    const pm::named_tensors all = pm::load_npz(folder / "all.npz", {.bytes = 1 << 20});  // more is refused unread
    pm::matrix<float> w(all.at("weights"));
    SHOWS("[[1. 2.] [3. 4.]]", w);
    // end
    std::filesystem::remove_all(folder);
}

TEST_CASE("pages: other libraries") {
    const pm::matrix<float> x = {{1, 2}, {3, 4}};
    // code: dlpack
    auto* lent = pm::to_dlpack(x);  // or pm::to_dlpack<DLManagedTensorVersioned>(x), of <dlpack/dlpack.h>
    SHOWS("4", static_cast<float*>(lent->dl_tensor.data)[3]);  // x's own memory where it is on the host: only to be read
    pm::matrix<float> y(pm::from_dlpack(lent));  // anybody's: copied, and its deleter called
    SHOWS("[[1. 2.] [3. 4.]]", y);
    // end
}

TEST_CASE("pages: looking inside") {
    // code: inside
    const pm::context careful(pm::check_finite{});  // for debugging: each op runs alone first, and is looked at
    const pm::vector<float> x = pm::from_span<float>({3}, std::vector<float>{1, 0, 4}, careful);
    const pm::vector<float> y = pm::sqrt(pm::log(x) + 2.0f);
    CHECK_THROWS_AS(pm::eval(y), pm::error);  // [check_finite] log gives 1 infinity in a result of shape (3,) of f32, the first at (1,)

    const auto f = [](const pm::vector<float>& v) { return pm::vector<float>(pm::softmax(v * 2.0f)); };
    const pm::vector<float> input = {1, 2, 3};
    const pm::comparison proof = pm::compare(f, input);  // fused, op by op, and on the host
    if (!proof) std::puts(pm::to_string(proof).c_str());  // the first step that differs, by how much, and its kernels
    CHECK(proof);

    const auto file = std::filesystem::temp_directory_path() / "pumice_report.html";
    const pm::matrix<float> w = pm::ones<float>({64, 96}) * 2.0f;
    pm::report(pm::softmax(pm::matmul(w, pm::transpose(w))), file);  // plan, memory and times as a page, with pictures
    // end
    CHECK(std::filesystem::remove(file));
}

TEST_CASE("pages: random numbers") {
    // code: random
    pm::random::key key(7);  // the same seed gives the same numbers on every device
    pm::vector<float> a = pm::random::normal<float>({4}, key), b = pm::random::normal<float>({4}, key);
    SHOWS("True", pm::all(a == b));
    b = pm::random::normal<float>({4}, key.next());  // another stream
    SHOWS("False", pm::all(a == b));

    pm::random::seed(42);  // of the stream that calls without a key take from
    a = pm::random::uniform<float>({4});
    pm::random::seed(42);
    b = pm::random::uniform<float>({4});
    SHOWS("True", pm::all(a == b));
    // end
    pm::random::seed(pm::random::default_seed);
}
