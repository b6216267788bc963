// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/exchange/dlpack.hpp>
#include <pumice/exchange/save.hpp>

#include <pumice.hpp>

#include <tests/exchange/support.hpp>
#include <tests/support/skip.hpp>

namespace pm = pumice;
using namespace pumice_test;
using pm::errc;
namespace dl = pm::dlpack;

namespace {

/// As <dlpack/dlpack.h> declares it: other types with the members of the specification.
enum foreign_device_type : std::int32_t { kDLCPU = 1, kDLCUDA = 2, kDLVulkan = 7 };
struct foreign_managed {
    struct {
        std::uint32_t major, minor;
    } version;
    void* manager_ctx;
    void (*deleter)(foreign_managed*);
    std::uint64_t flags;
    struct {
        void* data;
        struct {
            foreign_device_type device_type;
            std::int32_t device_id;
        } device;
        std::int32_t ndim;
        struct {
            std::uint8_t code, bits;
            std::uint16_t lanes;
        } dtype;
        std::int64_t *shape, *strides;
        std::uint64_t byte_offset;
    } dl_tensor;
};

static_assert(sizeof(dl::managed_tensor) == 64 && sizeof(dl::managed_tensor_versioned) == 80);
static_assert(sizeof(foreign_managed) == sizeof(dl::managed_tensor_versioned));
static_assert(offsetof(dl::managed_tensor_versioned, dl_tensor) == 32);
static_assert(!pm::dlpack_struct<dl::plain_tensor>);

int deleted = 0;

/// A tensor of another library's: floats 0, 1, 2 ... in memory, seen from element 2 on.
struct lent {
    std::vector<float> values = std::vector<float>(24);
    std::vector<std::int64_t> extent, steps;
    dl::managed_tensor_versioned managed{};

    lent(std::vector<std::int64_t> shape, std::vector<std::int64_t> strides)
        : extent(std::move(shape)), steps(std::move(strides)) {
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
        managed = {{1, 0},
                   nullptr,
                   [](dl::managed_tensor_versioned*) { ++deleted; },
                   0,
                   {values.data(),
                    {dl::cpu, 0},
                    static_cast<std::int32_t>(extent.size()),
                    {2, 32, 1},
                    extent.data(),
                    steps.empty() ? nullptr : steps.data(),
                    8}};
        deleted = 0;
    }
    /// The same values in a device's memory, `bytes` behind a multiple of 256.
    void move_to(const dl::managed_tensor_versioned& there, std::uint64_t bytes) {
        managed.dl_tensor.data = there.dl_tensor.data;
        managed.dl_tensor.device = {dl::vulkan, 0};
        managed.dl_tensor.byte_offset = bytes;
    }
    std::vector<float> taken() {
        const pm::any_tensor x = pm::from_dlpack(&managed);
        CHECK(deleted == 1);
        CHECK(x.dtype() == pm::dtype::f32);
        CHECK(std::equal(extent.begin(), extent.end(), x.shape().begin(), x.shape().end()));
        return pm::to_vector<float>(x);
    }
    void refused(errc code) {
        CHECK(code_of([&] { pm::from_dlpack(&managed); }) == code);
        CHECK(deleted == 1);
        deleted = 0;
    }
};

}  // namespace

TEST_CASE("dlpack: each type and shape goes out and comes back") {
    for (const pm::detail::dlpack_row& row : pm::detail::dlpack_rows)
        for (const pm::shape& s :
             {pm::shape{}, pm::shape{5}, pm::shape{2, 0}, pm::shape{2, 3, 4}}) {
            const pm::any_tensor x = numbers(row.dtype, s);
            const auto bytes = pm::detail::bytes_of(x);
            auto* const m = pm::to_dlpack(x);
            CHECK(m->version.major == 1);
            CHECK(m->flags == dl::flag_read_only);
            CHECK(m->dl_tensor.device.device_type == dl::cpu);
            CHECK(m->dl_tensor.ndim == s.rank());
            CHECK((m->dl_tensor.data == nullptr) == (x.size() == 0));
            CHECK((m->dl_tensor.shape != nullptr && m->dl_tensor.strides != nullptr));
            CHECK(pm::detail::bytes_of(pm::from_dlpack(m)) == bytes);
            auto* const foreign = pm::to_dlpack<foreign_managed>(x, pm::dlpack_access::writable);
            CHECK(foreign->flags == dl::flag_is_copied);
            CHECK(pm::detail::bytes_of(pm::from_dlpack(foreign)) == bytes);
            auto* const old = pm::to_dlpack<dl::managed_tensor>(x);
            const pm::any_tensor y = pm::from_dlpack(old);
            CHECK(y.dtype() == row.dtype);
            CHECK(y.shape() == s);
            CHECK(pm::detail::bytes_of(y) == bytes);
        }
    CHECK(std::size(pm::detail::dlpack_rows) == pm::detail::npy_codes.size() + 4);
}

TEST_CASE("dlpack: what was given away outlives the tensor, and is nobody else's where writable") {
    pm::vector<float> x = {1, 2, 3};
    auto* const shared = pm::to_dlpack(x);
    auto* const own = pm::to_dlpack(x, pm::dlpack_access::writable);
    static_cast<float*>(own->dl_tensor.data)[0] = 9;
    CHECK(x.to_vector() == std::vector<float>{1, 2, 3});
    x += 1.0f;  // the old values are lent
    x.host_mut()[1] = 7;
    CHECK(static_cast<float*>(shared->dl_tensor.data)[1] == 2);
    x = {};
    CHECK(static_cast<float*>(shared->dl_tensor.data)[2] == 3);
    shared->deleter(shared);
    own->deleter(own);
    const pm::matrix<float> m = {{1, 2, 3}, {4, 5, 6}};
    auto* const view = pm::to_dlpack(pm::transpose(m));
    CHECK(view->dl_tensor.shape[0] == 3);
    CHECK(static_cast<float*>(view->dl_tensor.data)[1] == 4);
    view->deleter(view);
    auto* const computed =
        pm::to_dlpack(pm::any_tensor(pm::vector<float>(x = {4, 5}) * 2.0f + 1.0f));
    CHECK(static_cast<float*>(computed->dl_tensor.data)[1] == 11);
    computed->deleter(computed);
    CHECK(code_of([&] { pm::to_dlpack<dl::managed_tensor>(m, pm::dlpack_access::read_only); }) ==
          errc::invalid_argument);
}

TEST_CASE("dlpack: strides, offsets and faults of others' tensors") {
    CHECK(lent({}, {}).taken() == std::vector<float>{2});
    CHECK(lent({2, 3}, {}).taken() == std::vector<float>{2, 3, 4, 5, 6, 7});
    CHECK(lent({2, 3}, {3, 1}).taken() == std::vector<float>{2, 3, 4, 5, 6, 7});
    CHECK(lent({2, 3}, {1, 2}).taken() == std::vector<float>{2, 4, 6, 3, 5, 7});
    CHECK(lent({2, 2}, {0, 5}).taken() == std::vector<float>{2, 7, 2, 7});
    CHECK(lent({3}, {-1}).taken() == std::vector<float>{2, 1, 0});
    CHECK(lent({1, 3, 1}, {99, 1, -99}).taken() == std::vector<float>{2, 3, 4});
    CHECK(lent({0, 3}, {1, 1}).taken().empty());

    lent x({2, 3}, {1, 2});
    x.managed.deleter = nullptr;
    CHECK(pm::from_dlpack(&x.managed).size() == 6);

    lent bad({2, 3}, {3, 1});
    const auto good = bad.managed;
    const auto each = [&](errc code, const auto& change) {
        bad.managed = good;
        change(bad.managed);
        bad.refused(code);
    };
    using managed = dl::managed_tensor_versioned;
    each(errc::unsupported, [](managed& m) { m.version.major = 2; });
    each(errc::unsupported, [](managed& m) { m.dl_tensor.device.device_type = 2; });
    CHECK(code_of([] {
              pm::to_dlpack(numbers(pm::dtype::f32, {3}), pm::dlpack_access::read_only, kDLCUDA);
          }) == errc::unsupported);
    each(errc::unsupported, [](managed& m) { m.dl_tensor.dtype.lanes = 4; });
    each(errc::unsupported, [](managed& m) { m.dl_tensor.dtype = {5, 64, 1}; });
    each(errc::unsupported, [](managed& m) { m.dl_tensor.dtype = {2, 8, 1}; });
    each(errc::unsupported, [](managed& m) { m.dl_tensor.ndim = 9; });
    each(errc::unsupported, [](managed& m) { m.dl_tensor.ndim = -1; });
    each(errc::unsupported, [](managed& m) {
        m.dl_tensor.dtype = {1, 4, 1};
        m.flags = dl::flag_padded;
    });
    each(errc::invalid_argument, [](managed& m) { m.dl_tensor.shape = nullptr; });
    each(errc::invalid_argument, [](managed& m) { m.dl_tensor.data = nullptr; });
    std::int64_t huge[] = {std::int64_t{1} << 62, 4}, negative[] = {-2, 3}, turned[] = {1, 2};
    each(errc::size_overflow, [&](managed& m) { m.dl_tensor.shape = huge; });
    each(errc::invalid_argument, [&](managed& m) { m.dl_tensor.shape = negative; });
    each(errc::unsupported, [&](managed& m) {
        m.dl_tensor.dtype = {0, 4, 1};
        m.dl_tensor.strides = turned;
    });
    CHECK(code_of([] { pm::from_dlpack(static_cast<managed*>(nullptr)); }) ==
          errc::invalid_argument);
}

namespace {

/// Of a device's: such a tensor of the default context.
dl::managed_tensor_versioned* lend_on_device(pm::any_tensor x, bool writable = false) {
    return pm::to_dlpack(std::move(x),
                         writable ? pm::dlpack_access::writable : pm::dlpack_access::read_only,
                         dl::vulkan);
}
bool host_computes() { return pm::default_context().device().type == pm::device_type::host; }

}  // namespace

TEST_CASE("dlpack: each type and shape goes by the device's memory, not by the host's") {
    if (host_computes()) PUMICE_SKIP("vulkan-device", "the host computes");
    for (const pm::detail::dlpack_row& row : pm::detail::dlpack_rows)
        for (const pm::shape& s :
             {pm::shape{}, pm::shape{5}, pm::shape{2, 0}, pm::shape{2, 3, 4}}) {
            const pm::any_tensor x = pm::flip(numbers(row.dtype, s));  // no row-major memory
            const std::uint64_t downloads = pm::stats().downloads;
            auto* const m = lend_on_device(x);
            CHECK(m->flags == dl::flag_read_only);
            CHECK(m->dl_tensor.device.device_type == kDLVulkan);
            CHECK(m->dl_tensor.device.device_id == 0);
            CHECK((m->dl_tensor.data == nullptr) == (x.size() == 0));
            CHECK(reinterpret_cast<std::uintptr_t>(m->dl_tensor.data) % 256 == 0);
            auto* const foreign =
                pm::to_dlpack<foreign_managed>(x, pm::dlpack_access::writable, kDLVulkan);
            CHECK(foreign->flags == dl::flag_is_copied);
            CHECK((foreign->dl_tensor.data != m->dl_tensor.data || x.size() == 0));
            auto* const old =
                pm::to_dlpack<dl::managed_tensor>(x, pm::dlpack_access::writable, dl::vulkan);
            const pm::any_tensor one = pm::from_dlpack(m), two = pm::from_dlpack(foreign),
                                 three = pm::from_dlpack(old);
            CHECK(pm::stats().downloads == downloads);
            CHECK(one.dtype() == row.dtype);
            CHECK(one.shape() == s);
            const auto bytes = pm::detail::bytes_of(x);
            for (const pm::any_tensor& y : {one, two, three})
                CHECK(pm::detail::bytes_of(y) == bytes);
        }
}

TEST_CASE("dlpack: what a device lent outlives the tensor, and is nobody else's where writable") {
    if (host_computes()) PUMICE_SKIP("vulkan-device", "the host computes");
    pm::vector<float> x = {1, 2, 3};
    auto* const shared = lend_on_device(x);
    auto* const again = lend_on_device(x);
    CHECK(again->dl_tensor.data == shared->dl_tensor.data);
    again->deleter(again);
    auto* const own = lend_on_device(x, true);
    CHECK(own->dl_tensor.data != shared->dl_tensor.data);
    x += 1.0f;  // the old values are lent
    CHECK(x.to_vector() == std::vector<float>{2, 3, 4});
    x = {};
    const pm::any_tensor back = pm::from_dlpack(shared);
    CHECK(pm::to_vector<float>(back) == std::vector<float>{1, 2, 3});
    CHECK(pm::to_vector<float>(pm::from_dlpack(own)) == std::vector<float>{1, 2, 3});

    // What nobody else holds is given as it lies; what comes back is a copy.
    pm::any_tensor y = pm::astype(numbers(pm::dtype::f32, {1000}), pm::dtype::i32);
    const std::vector<int> values = pm::to_vector<int>(y);
    auto* const seen = lend_on_device(y);
    void* const there = seen->dl_tensor.data;
    const pm::any_tensor z = pm::from_dlpack(seen);
    auto* const given = lend_on_device(std::move(y), true);
    CHECK(given->dl_tensor.data == there);
    given->deleter(given);
    for (int i = 0; i < 8; ++i)  // may lie where it lay
        pm::detail::copied(pm::full(pm::dtype::i32, {1000}, i));
    CHECK(pm::to_vector<int>(z) == values);
}

TEST_CASE("dlpack: strides, offsets and faults of tensors on a device") {
    if (host_computes()) PUMICE_SKIP("vulkan-device", "the host computes");
    std::vector<float> counting(24);
    for (std::size_t i = 0; i < counting.size(); ++i) counting[i] = static_cast<float>(i);
    auto* const memory = lend_on_device(pm::any_tensor(pm::from_span<float>({24}, counting)));
    const auto taken = [&](std::vector<std::int64_t> shape, std::vector<std::int64_t> steps,
                           std::uint64_t first) {
        lent x(std::move(shape), std::move(steps));
        x.move_to(*memory, 4 * first);
        return x.taken();
    };
    for (std::uint64_t at = 0; at < 16; ++at) {  // not only multiples of 16 bytes
        const auto f = static_cast<float>(at);
        CHECK(taken({}, {}, at) == std::vector<float>{f});
        CHECK(taken({2, 3}, {}, at) == std::vector<float>{f, f + 1, f + 2, f + 3, f + 4, f + 5});
        CHECK(taken({2, 3}, {1, 2}, at) ==
              std::vector<float>{f, f + 2, f + 4, f + 1, f + 3, f + 5});
        CHECK(taken({2, 2}, {0, 5}, at) == std::vector<float>{f, f + 5, f, f + 5});
        CHECK(taken({1, 3, 1}, {99, 1, -99}, at) == std::vector<float>{f, f + 1, f + 2});
        CHECK(taken({3}, {-1}, at + 2) == std::vector<float>{f + 2, f + 1, f});
        CHECK(taken({2, 2}, {-4, 1}, at + 4) == std::vector<float>{f + 4, f + 5, f, f + 1});
        CHECK(taken({0, 3}, {1, 1}, at).empty());
    }
    lent bad({2, 3}, {1, 2});
    const auto refused = [&](errc code, const auto& change) {
        bad.move_to(*memory, 8);
        const auto good = bad.managed;
        change(bad.managed);
        bad.refused(code);
        bad.managed = good;
    };
    using managed = dl::managed_tensor_versioned;
    refused(errc::invalid_argument, [](managed& m) { m.dl_tensor.byte_offset = 2; });
    refused(errc::invalid_argument, [](managed& m) { m.dl_tensor.data = nullptr; });
    refused(errc::unsupported, [](managed& m) { m.dl_tensor.dtype = {0, 4, 1}; });
    bad.move_to(*memory, 8);
    CHECK(code_of([&] { pm::from_dlpack(&bad.managed, pm::context(pm::host_only{})); }) ==
          errc::unsupported);
    CHECK(deleted == 1);
    memory->deleter(memory);

    // Of small elements each offset, and nibbles behind bytes.
    auto* const bytes = lend_on_device(numbers(pm::dtype::u8, {64}));
    const std::vector<std::uint8_t> all = pm::to_vector<std::uint8_t>(numbers(pm::dtype::u8, {64}));
    for (std::uint64_t at = 0; at < 20; ++at) {
        lent x({2, 9}, {-1, 3});
        x.move_to(*bytes, at + 1);
        x.managed.dl_tensor.dtype = {1, 8, 1};
        const auto got = pm::to_vector<std::uint8_t>(pm::from_dlpack(&x.managed));
        for (std::size_t i = 0; i < 18; ++i) CHECK(got[i] == all[at + 1 - i / 9 + i % 9 * 3]);
        lent n({7}, {});
        n.move_to(*bytes, at);
        n.managed.dl_tensor.dtype = {1, 4, 1};
        const auto nibbles = pm::to_vector<pm::u4>(pm::from_dlpack(&n.managed));
        for (std::size_t i = 0; i < 7; ++i)
            CHECK(static_cast<int>(nibbles[i]) == (all[at + i / 2] >> (i % 2 * 4) & 15));
    }
    bytes->deleter(bytes);
}

TEST_CASE("dlpack: what a device lends to a function that is traced is a constant of it") {
    if (host_computes()) PUMICE_SKIP("vulkan-device", "the host computes");
    auto* const memory = lend_on_device(numbers(pm::dtype::f32, {6}));
    const auto f = pm::compile([&](const pm::any_tensor& t) {
        lent x({6}, {-1});
        x.move_to(*memory, 4 * 5);
        return t + pm::from_dlpack(&x.managed);
    });
    const pm::any_tensor t = pm::full(pm::dtype::f32, {6}, 1);
    for (int round = 0; round < 2; ++round)
        CHECK(pm::to_vector<float>(f(t)) == std::vector<float>{5, 7, 2, 4, 6, 1});
    memory->deleter(memory);
}

TEST_CASE("dlpack: only a Vulkan device gives and takes its addresses") {
    const pm::any_tensor here = pm::to(numbers(pm::dtype::f32, {3}), pm::context(pm::host_only{}));
    CHECK(text_of_error([&] { lend_on_device(here); }).find("host") != std::string::npos);
    const pm::context null{pm::null_device{pm::default_context().device()}};
    for (const std::int64_t n : {0, 3}) {
        CHECK(code_of([&] { lend_on_device(pm::zeros(pm::dtype::f32, {n}, null)); }) ==
              errc::unsupported);
        CHECK(code_of([&] { lend_on_device(pm::to(here, pm::context(pm::host_only{}))); }) ==
              errc::unsupported);
        for (const pm::context& home : {null, pm::context(pm::host_only{})}) {
            lent x({n}, {});
            x.managed.dl_tensor.device.device_type = dl::vulkan;
            CHECK(code_of([&] { pm::from_dlpack(&x.managed, home); }) == errc::unsupported);
            CHECK(deleted == 1);
        }
    }
}

TEST_CASE("dlpack: threads lend a device's memory to each other") {
    if (host_computes()) PUMICE_SKIP("vulkan-device", "the host computes");
    hand_over_in_threads([](const pm::any_tensor& x, int n) {
        const pm::any_tensor sum = x + n;
        return pm::from_dlpack(lend_on_device(n % 2 ? sum : x + n, n % 3));
    });
}
