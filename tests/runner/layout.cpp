// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

#include <pumice/runner/layout.hpp>

#include <algorithm>

using namespace test;
using pm::memory_layout;

namespace {

/// Bytes that tell every element from its neighbours.
std::vector<std::byte> marked(pm::dtype type, const pm::shape& s) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(pm::byte_count(type,
                                                                         pm::element_count(s))));
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<std::byte>(type == pm::dtype::boolean ? i % 3 == 0
                                                                     : (i * 37 + i / 7) % 120);
    return bytes;
}
std::vector<std::byte> bytes_in(const pm::any_tensor& t) {
    std::vector<std::byte> b(static_cast<std::size_t>(t.size_bytes()));
    pm::read(t, b);
    return b;
}

/// The layout by its words: where element (indices of the host's axes) lies, in elements.
std::int64_t place_of(const memory_layout& l, const pm::shape& host, const pm::index_list& at) {
    std::int64_t place = 0;
    const pm::shape s = pm::packed_shape(l, host);
    pm::index_list index;
    for (const std::int64_t axis : l.order()) index.push_back(at[static_cast<int>(axis)]);
    if (l.block() > 1) {
        index.push_back(index[1] % l.block());
        index[1] /= l.block();
    }
    for (int i = 0; i < s.rank(); ++i) place = place * s[i] + index[i];
    return place;
}

/// What is packed lies where the words say, what fills blocks is zero, and it comes back.
void check(const memory_layout& l, pm::dtype type, const pm::shape& host, const pm::context& home) {
    CAPTURE(to_string(l));
    CAPTURE(to_string(type));
    CAPTURE(to_string(host));
    const std::vector<std::byte> values = marked(type, host);
    const pm::any_tensor x = pm::from_bytes(type, host, values, home);
    const pm::any_tensor packed = pm::to_layout(x, l);
    REQUIRE(packed.shape() == pm::packed_shape(l, host));
    const std::vector<std::byte> got = bytes_in(packed);
    const auto size = static_cast<std::size_t>(pm::info(type).bits / 8);
    std::vector<std::byte> wanted(got.size());
    pm::index_list at = pm::index_list::filled(host.rank(), 0);
    for (std::size_t i = 0; i < values.size() / size; ++i) {
        const auto to = static_cast<std::size_t>(place_of(l, host, at)) * size;
        std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(i * size), size,
                    wanted.begin() + static_cast<std::ptrdiff_t>(to));
        for (int axis = host.rank() - 1; axis >= 0 && ++at[axis] == host[axis]; --axis)
            at[axis] = 0;
    }
    CHECK(got == wanted);
    const pm::any_tensor lies = pm::from_bytes(type, packed.shape(), got, home);
    CHECK(bytes_in(pm::from_layout(lies, l, host)) == values);
}

}  // namespace

TEST_CASE("layout: each of the seven holds every type, with channels that fill no block") {
    const pm::context home;
    const memory_layout list[] = {memory_layout::nhw(),
                                  memory_layout::nhwc(),
                                  memory_layout::nchw(),
                                  memory_layout::hcwnc4(),
                                  memory_layout::hcwnc8(),
                                  memory_layout::hcwnc16(),
                                  memory_layout::generic({3, 0, 2, 1})};
    for (std::size_t t = 0; t < pm::dtype_table.size(); ++t) {
        const auto type = static_cast<pm::dtype>(t);
        for (const memory_layout& l : list) {
            const pm::shape host = l.rank() == 3 ? pm::shape{2, 3, 5} : pm::shape{2, 5, 3, 4};
            const std::string why = pm::why_not(l, type, host.rank(), home.device());
            CHECK(pm::supports(home.device(), l, type, host.rank()) == why.empty());
            CHECK(why.empty() == !pm::is_packed(type));
            if (why.empty()) check(l, type, host, home);
            else
                CHECK(thrown_by([&] { pm::to_layout(pm::zeros(type, host, home), l); }).code() ==
                      pm::errc::unsupported);
        }
    }
    for (const std::int64_t channels : {1, 3, 4, 7, 8, 15, 16, 17, 33})
        for (const memory_layout& l :
             {memory_layout::hcwnc4(), memory_layout::hcwnc8(), memory_layout::hcwnc16()})
            check(l, pm::dtype::f32, {2, channels, 2, 3}, home);
}

TEST_CASE("layout: all orders of rank 4") {
    const pm::context home;
    std::array<std::int64_t, 4> order{0, 1, 2, 3};
    int count = 0;
    do {
        const auto l = memory_layout::generic(pm::index_list(order));
        check(l, pm::dtype::i16, {2, 3, 4, 5}, home);
        CHECK(memory_layout::named(to_string(l)) == l);
        ++count;
    } while (std::ranges::next_permutation(order).found);
    CHECK(count == 24);
}

TEST_CASE("layout: names are read and printed, and wrong ones refused") {
    for (const char* name :
         {"nhw", "nhwc", "nchw", "hcwnc4", "hcwnc8", "hcwnc16", "generic(2,0,1)", ""})
        CHECK(to_string(memory_layout::named(name)) == name);
    for (const char* name : {"nwhc", "generic", "generic(", "generic()x", "generic(0,,1)",
                             "generic(0,0)", "generic(1)", "generic(0,1,2,3,4,5,6,7,0)"})
        CHECK(code_of([&] { memory_layout::named(name); }) == pm::errc::invalid_argument);
    const pm::context home;
    const pm::any_tensor x = pm::zeros(pm::dtype::f32, {2, 3, 4}, home);
    CHECK(text_of_error([&] { pm::to_layout(x, memory_layout::nchw()); }).find("of rank 4") !=
          std::string::npos);
    CHECK(code_of([&] { pm::from_layout(x, memory_layout::nhw(), {4, 3, 2}); }) ==
          pm::errc::shape_mismatch);
    CHECK(pm::to_layout(x, {}).get() == x.get());
}

TEST_CASE("layout: a half view in hardware of a host's f32 keeps what the half type holds") {
    const pm::context home;
    // The example of the docs: f32 (1, 3, 224, 224) by bf16 (224, 1, 224, 1, 4).
    const pm::shape host{1, 3, 224, 224};
    std::vector<float> values(3 * 224 * 224);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = float(i % 251) - 100;
    const pm::any_tensor x =
        pm::from_bytes(pm::dtype::f32, host, std::as_bytes(std::span(values)), home);
    const pm::any_tensor y = pm::to_layout(pm::astype(x, pm::dtype::bf16), memory_layout::hcwnc4());
    CHECK(y.shape() == pm::shape{224, 1, 224, 1, 4});
    const std::uint64_t before = home.stats().dispatches;
    const auto raw = pm::to_vector<pm::bf16>(y);
    CHECK(home.stats().dispatches - before <= 2);
    int wrong = 0;
    for (std::size_t i = 3; i < raw.size(); i += 4) wrong += float(raw[i]) != 0;
    CHECK(wrong == 0);
    CHECK(pm::to_vector<float>(pm::astype(pm::from_layout(y, memory_layout::hcwnc4(), host),
                                          pm::dtype::f32)) == values);
}
