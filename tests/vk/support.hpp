// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of vk/: a device to test on, and a kernel.
#pragma once

#include <pumice/vk/command_cache.hpp>
#include <pumice/vk/external_memory.hpp>

#include <tests/support/scope.hpp>
#include <tests/support/skip.hpp>
#include <tests/support/thrown.hpp>

#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include <unistd.h>

namespace test {

namespace vulkan = pumice::vulkan;
using pumice::errc;

/// A device with its queue. Members die in reverse order, and the instance's messages are checked
/// last.
struct gpu {
    std::shared_ptr<vulkan::instance> instance;
    std::shared_ptr<vulkan::device> device;
    std::shared_ptr<vulkan::queue> queue;
    std::string why;  // there is none

    explicit operator bool() const noexcept { return device != nullptr; }
};

/// The first usable device; empty on a machine that has none. Validation messages go to stderr.
inline gpu open(const vulkan::device_options& options = {}, vulkan::instance_options how = {}) {
    gpu g;
    if (!how.on_message)
        how.on_message = [](pumice::severity, std::string_view text) {
            std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size()), text.data());
        };
    try {
        g.instance = vulkan::instance::create(std::move(how));
    } catch (const pumice::error& e) {
        if (e.code() != errc::no_vulkan_loader) throw;
        g.why = e.what();
        return g;
    }
    for (const vulkan::candidate& c : g.instance->candidates())
        if (c.refusals.empty()) {
            g.device = vulkan::device::create(g.instance, c, options);
            g.queue = std::make_shared<vulkan::queue>(g.device);
            return g;
        }
    g.why = "no Vulkan device";
    return g;
}

/// Whether a validation layer listens, as it does under VALIDATION=1.
inline bool validating() {
    const char* layers = std::getenv("VK_INSTANCE_LAYERS");
    return layers && std::string_view(layers).find("validation") != std::string_view::npos;
}

/// Makes calls fail: the `at`-th call (from 0) of those that `intercept` was told of gives
/// `result`, without reaching the driver; with `forever`, all later ones too.
struct faults {
    inline static std::atomic<int> calls{0}, at{-1};
    inline static bool forever = false;
    inline static VkResult result = VK_ERROR_OUT_OF_HOST_MEMORY;

    static void arm(int n, VkResult what, bool always = false) noexcept {
        calls = 0;
        at = n;
        result = what;
        forever = always;
    }
    static void disarm() noexcept { at = -1; }
    static bool hit() noexcept {
        const int n = calls++, wanted = at;
        return wanted >= 0 && (n == wanted || (forever && n > wanted));
    }
};

namespace detail {
template <class Function, auto Member>
struct trampoline;
template <class... Arguments, auto Member>
struct trampoline<VkResult(VKAPI_PTR*)(Arguments...), Member> {
    inline static VkResult(VKAPI_PTR* real)(Arguments...) = nullptr;
    static VKAPI_ATTR VkResult VKAPI_CALL call(Arguments... arguments) {
        return faults::hit() ? faults::result : real(arguments...);
    }
};
}  // namespace detail

/// Puts `faults` before functions of a dispatcher:
/// intercept<&vulkan::dispatcher::vkAllocateMemory>(table).
template <auto... Members>
void intercept(vulkan::dispatcher& table) {
    const auto one = [&table]<auto Member>() {
        using function = std::remove_reference_t<decltype(table.*Member)>;
        using wrapped = detail::trampoline<function, Member>;
        if (table.*Member == &wrapped::call || !(table.*Member)) return;
        wrapped::real = table.*Member;
        table.*Member = &wrapped::call;
    };
    (one.template operator()<Members>(), ...);
}

/// A folder that is removed with it.
struct temporary_folder {
    std::filesystem::path path;
    temporary_folder() {
        std::string text = (std::filesystem::temp_directory_path() / "pumice-test-XXXXXX").string();
        if (!::mkdtemp(text.data())) throw std::runtime_error("mkdtemp");
        path = text;
    }
    temporary_folder(const temporary_folder&) = delete;
    ~temporary_folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
    }
};

/// The parameter block of `scale_kernel`.
struct scale_parameters {
    std::uint64_t data = 0;
    std::uint32_t n = 0, value = 0;
};

/// data[i] = data[i] * factor + value, for i < n; 64 invocations. `factor` is constant 0, by
/// default 3.     [vk::constant_id(0)] const uint factor = 3;
///     void main(uint3 id : SV_DispatchThreadID, uniform Params* p)
///     { if (id.x < p->n) p->data[id.x] = p->data[id.x] * factor + p->value; }
// clang-format off
inline constexpr std::uint32_t scale_kernel[] = {
0x7230203, 0x10600, 0x280000, 0x36, 0x0, 0x20011, 0x14e3, 0x20011, 0x1, 0x9000a,
0x5f565053, 0x5f52484b, 0x73796870, 0x6c616369, 0x6f74735f, 0x65676172, 0x6675625f, 0x726566, 0x3000e, 0x14e4,
0x1, 0x7000f, 0x5, 0x2, 0x6e69616d, 0x0, 0x11, 0xb, 0x60010, 0x2,
0x11, 0x40, 0x1, 0x1, 0x30003, 0xb, 0x1, 0x80005, 0xd, 0x72746e45,
0x696f5079, 0x6150746e, 0x736d6172, 0x6474735f, 0x303334, 0x40006, 0xd, 0x0, 0x70, 0x70005,
0x11, 0x72746e65, 0x696f5079, 0x6150746e, 0x736d6172, 0x0, 0x40005, 0x2d, 0x74636166, 0x726f,
0x40005, 0x2, 0x6e69616d, 0x0, 0x60005, 0xe, 0x61726150, 0x6e5f736d, 0x72757461, 0x6c61,
0x50006, 0xe, 0x0, 0x61746164, 0x0, 0x40006, 0xe, 0x1, 0x6e, 0x50006,
0xe, 0x2, 0x756c6176, 0x65, 0x40047, 0xb, 0xb, 0x1c, 0x40047, 0xf,
0x6, 0x10, 0x30047, 0xd, 0x2, 0x50048, 0xd, 0x0, 0x23, 0x0,
0x40047, 0x18, 0x6, 0x4, 0x40047, 0x1f, 0x6, 0x8, 0x40047, 0x2d,
0x1, 0x0, 0x50048, 0xe, 0x0, 0x23, 0x0, 0x50048, 0xe, 0x1,
0x23, 0x8, 0x50048, 0xe, 0x2, 0x23, 0xc, 0x20013, 0x1, 0x30021,
0x3, 0x1, 0x40015, 0x7, 0x20, 0x0, 0x40017, 0x8, 0x7, 0x3,
0x40020, 0xa, 0x1, 0x8, 0x30027, 0xf, 0x14e5, 0x3001e, 0xd, 0xf,
0x40020, 0x10, 0x9, 0xd, 0x40015, 0x12, 0x20, 0x1, 0x4002b, 0x12,
0x13, 0x0, 0x40020, 0x14, 0x9, 0xf, 0x4002b, 0x12, 0x17, 0x1,
0x40020, 0x18, 0x14e5, 0x7, 0x20014, 0x1b, 0x40020, 0x1f, 0x14e5, 0x18,
0x40032, 0x7, 0x2d, 0x3, 0x4002b, 0x12, 0x2f, 0x2, 0x5001e, 0xe,
0x18, 0x7, 0x7, 0x40020, 0xf, 0x14e5, 0xe, 0x4003b, 0xa, 0xb,
0x1, 0x4003b, 0x10, 0x11, 0x9, 0x50036, 0x1, 0x2, 0x0, 0x3,
0x200f8, 0x4, 0x4003d, 0x8, 0x9, 0xb, 0x50051, 0x7, 0xc, 0x9,
0x0, 0x50041, 0x14, 0x15, 0x11, 0x13, 0x4003d, 0xf, 0x16, 0x15,
0x50041, 0x18, 0x19, 0x16, 0x17, 0x6003d, 0x7, 0x1a, 0x19, 0x2,
0x4, 0x500b0, 0x1b, 0x1c, 0xc, 0x1a, 0x300f7, 0x6, 0x0, 0x400fa,
0x1c, 0x5, 0x6, 0x200f8, 0x5, 0x4003d, 0xf, 0x1e, 0x15, 0x50041,
0x1f, 0x20, 0x1e, 0x13, 0x4003d, 0x8, 0x21, 0xb, 0x50051, 0x7,
0x22, 0x21, 0x0, 0x6003d, 0x18, 0x23, 0x20, 0x2, 0x8, 0x50043,
0x18, 0x24, 0x23, 0x22, 0x4003d, 0xf, 0x25, 0x15, 0x50041, 0x1f,
0x26, 0x25, 0x13, 0x4003d, 0x8, 0x27, 0xb, 0x50051, 0x7, 0x28,
0x27, 0x0, 0x6003d, 0x18, 0x29, 0x26, 0x2, 0x8, 0x50043, 0x18,
0x2a, 0x29, 0x28, 0x6003d, 0x7, 0x2b, 0x2a, 0x2, 0x4, 0x50084,
0x7, 0x2c, 0x2b, 0x2d, 0x4003d, 0xf, 0x2e, 0x15, 0x50041, 0x18,
0x30, 0x2e, 0x2f, 0x6003d, 0x7, 0x31, 0x30, 0x2, 0x4, 0x50080,
0x7, 0x32, 0x2c, 0x31, 0x5003e, 0x24, 0x32, 0x2, 0x4, 0x200f9,
0x6, 0x200f8, 0x6, 0x100fd, 0x10038,
};
// clang-format on

}  // namespace test
