// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The mode that keeps NaN is put into SPIR-V where it belongs, once, and nothing else is touched.
#include <pumice/exec/vulkan/float_controls.hpp>

#include <doctest/doctest.h>

#include <initializer_list>
#include <random>

using namespace pumice;
using words = array_list<std::uint32_t>;

namespace {

void put(words& out, std::uint32_t op, std::initializer_list<std::uint32_t> operands) {
    out.push_back(std::uint32_t(operands.size() + 1) << 16 | op);
    out.append(operands);
}

/// A module as a compiler writes it: capabilities, an entry point with its modes, a type, a
/// function.
struct module_text {
    words text{0x07230203, 0x10600, 0, 40, 0};
    std::size_t capability_at = 0, mode_at = 0;  // where the new words belong
};
module_text module_with(bool doubles, bool halves = false) {
    module_text m;
    put(m.text, 17, {1});
    if (doubles) put(m.text, 17, {10});
    m.capability_at = m.text.size();
    put(m.text, 10, {0x5f565053, 0});
    put(m.text, 14, {5348, 1});
    put(m.text, 15, {5, 7, 0x6e69616d, 0});
    put(m.text, 16, {7, 17, 64, 1, 1});
    m.mode_at = m.text.size();
    if (halves) put(m.text, 71, {9, 1, keeps_half_subnormals});
    put(m.text, 19, {2});
    put(m.text, 54, {2, 7, 0, 3});
    put(m.text, 16, {7, 17, 1, 1, 1});  // no place for a mode, and not looked at
    return m;
}
device_info keeps(bool in32, bool in64) {
    device_info d;
    d.preserves_nan32 = in32;
    d.preserves_nan64 = in64;
    return d;
}
device_info keeps_subnormals(bool in64) {
    device_info d;
    d.preserves_nan32 = d.preserves_denorm16 = true;
    d.preserves_denorm64 = in64;
    return d;
}

}  // namespace

TEST_CASE(
    "float controls: the capability stands behind the others, the mode behind the entry point's") {
    for (const bool doubles : {false, true}) {
        CAPTURE(doubles);
        const module_text m = module_with(doubles);
        const auto with = [&](std::initializer_list<std::uint32_t> widths) {
            words wanted = m.text, modes;
            for (const std::uint32_t w : widths) put(modes, 16, {7, 4461, w});
            wanted.insert(wanted.begin() + std::ptrdiff_t(m.mode_at), modes.begin(), modes.end());
            words capability;
            if (!modes.empty()) put(capability, 17, {4466});
            wanted.insert(wanted.begin() + std::ptrdiff_t(m.capability_at), capability.begin(),
                          capability.end());
            return wanted;
        };
        CHECK(with_float_controls(m.text, keeps(false, false)) == m.text);
        CHECK(with_float_controls(m.text, keeps(true, false)) == with({32}));
        // A width that the module does not use would need a capability that it may not have.
        CHECK(with_float_controls(m.text, keeps(true, true)) ==
              (doubles ? with({32, 64}) : with({32})));
        CHECK(with_float_controls(m.text, keeps(false, true)) == (doubles ? with({64}) : with({})));
    }
}

TEST_CASE(
    "float controls: subnormals are kept where halves are converted, of f64 where it has it") {
    for (const bool doubles : {false, true}) {
        const module_text none = module_with(doubles), m = module_with(doubles, true);
        CHECK(with_float_controls(none.text, keeps_subnormals(true)) ==
              with_float_controls(none.text, keeps(true, false)));
        words wanted = m.text, modes, capabilities;
        put(modes, 16, {7, 4461, 32});
        put(modes, 16, {7, 4459, 16});
        if (doubles) put(modes, 16, {7, 4459, 64});
        put(capabilities, 17, {4466});
        put(capabilities, 17, {4464});
        wanted.insert(wanted.begin() + std::ptrdiff_t(m.mode_at), modes.begin(), modes.end());
        wanted.insert(wanted.begin() + std::ptrdiff_t(m.capability_at), capabilities.begin(),
                      capabilities.end());
        CHECK(with_float_controls(m.text, keeps_subnormals(true)) == wanted);
        CHECK(with_float_controls(wanted, keeps_subnormals(true)) == wanted);
    }
}

TEST_CASE("float controls: a module that has the mode stays as it is") {
    const words once = with_float_controls(module_with(true).text, keeps(true, true));
    CHECK(with_float_controls(once, keeps(true, true)) == once);
}

TEST_CASE("float controls: what is no SPIR-V comes back unchanged, however it is cut") {
    const words whole = module_with(true).text;
    const device_info device = keeps(true, true);
    for (std::size_t n = 0; n < module_with(true).mode_at; ++n) {
        const words cut(whole.begin(), whole.begin() + std::ptrdiff_t(n));
        const words out = with_float_controls(cut, device);
        // A cut between two instructions, behind the entry point, leaves a module; any other none.
        CHECK((out == cut || out.size() == cut.size() + 10));
        if (n < 5 + 2 + 2 + 3) CHECK(out == cut);
    }
    for (std::size_t n = 5; n < whole.size(); ++n) {
        words broken = whole;
        broken[n] &= 0xffff;  // where this is an instruction, it has no length
        const words out = with_float_controls(broken, device);
        CHECK((out == broken || out.size() == broken.size() + 10));
    }
    std::mt19937 random(8);
    for (int round = 0; round < 20000; ++round) {
        words noise = whole;
        for (int changes = 1 + int(random() % 4); changes > 0; --changes)
            noise[5 + random() % (noise.size() - 5)] =
                random() % 2 ? std::uint32_t(random())
                             : std::uint32_t(random() % 8) << 16 | std::uint32_t(random() % 60);
        const words out = with_float_controls(noise, device);
        CHECK((out.size() == noise.size() || out.size() == noise.size() + 6 ||
               out.size() == noise.size() + 10));
    }
}
