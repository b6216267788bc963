// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/exchange/dlpack.hpp>
#include <pumice/exchange/save.hpp>

#include <pumice.hpp>

#include <tests/exchange/support.hpp>

namespace pm = pumice;
using namespace pumice_test;
using pm::errc;
namespace dl = pm::dlpack;

namespace {

/// As <dlpack/dlpack.h> declares it: other types with the members of the specification.
enum foreign_device_type : std::int32_t { kDLCPU = 1, kDLCUDA = 2 };
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
