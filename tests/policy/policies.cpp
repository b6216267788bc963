// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What each policy puts into the set, and what the device and kernel policies choose.
#include <pumice/policy/policies.hpp>

#include <doctest/doctest.h>

#include <array>

using namespace pumice;

namespace {

policy_set with(const auto&... policies) {
    policy_set set;
    (policies.apply(set), ...);
    return set;
}
device_candidate device(device_type type, const char* name = "a device") {
    device_candidate d;
    d.info.type = type;
    d.info.name = name;
    return d;
}
constexpr device_type all[] = {device_type::discrete_gpu, device_type::integrated_gpu,
                               device_type::virtual_gpu, device_type::other, device_type::cpu};

/// The first of the highest rank; -1 where all are refused.
int chosen(const policy_set& set) {
    int best = -1, rank = -1;
    for (std::size_t i = 0; i < std::size(all); ++i)
        if (const int r = set.device(device(all[i])); r > rank) best = int(i), rank = r;
    return best;
}

/// A policy of a user's own.
struct quiet {
    void apply(policy_set& set) const {
        set.max_pending = 1;
        set.device_wish = "quiet";
    }
};

}  // namespace

TEST_CASE("policies: an empty set leaves everything to the defaults") {
    const policy_set set;
    CHECK_FALSE(bool(set.device));
    CHECK_FALSE(bool(set.kernel));
    CHECK(set.fusion);
    CHECK_FALSE(set.eager);
    CHECK_FALSE(set.device_named);
    CHECK(set.memory_limit == 0);
    CHECK(set.fallback == cpu_fallback::mode::warn);
    CHECK_FALSE(bool(set.place));
    CHECK(set.cache_folder.empty());
    CHECK(set.max_pending > 1);
}

TEST_CASE("policies: which device is preferred, and which are refused") {
    CHECK(chosen(with(prefer_discrete{})) == 0);
    CHECK(chosen(with(prefer_integrated{})) == 1);
    CHECK_FALSE(with(prefer_discrete{}).device_named);  // the host may still step in
    const policy_set gpus = with(gpu_only{});
    CHECK(chosen(gpus) == 0);
    CHECK(gpus.device(device(device_type::cpu)) < 0);
    CHECK(gpus.device_named);
    CHECK(gpus.device_wish == "a GPU");
    CHECK(with(vulkan_only{}).device_named);
    CHECK_FALSE(bool(with(vulkan_only{}).device));
}

TEST_CASE("policies: a device by its name, wherever the policy itself has gone") {
    policy_set set;
    {
        const std::string part = "RTX";
        device_named{part}.apply(set);
    }
    CHECK(set.device(device(device_type::cpu, "NVIDIA RTX 9000")) == 0);
    CHECK(set.device(device(device_type::discrete_gpu, "llvmpipe")) < 0);
    CHECK(set.device_named);
    CHECK(set.device_wish.find("\"RTX\"") != std::string::npos);
}

TEST_CASE("policies: the host alone") {
    const policy_set set = with(host_only{});
    for (const device_type t : all) CHECK(set.device(device(t)) < 0);
    CHECK(set.device(device(device_type::host)) == 0);
}

TEST_CASE("policies: kernels") {
    const std::array<kernel_candidate, 4> list{
        kernel_candidate{"dear", true, 9}, kernel_candidate{"quick", false, 1},
        kernel_candidate{"plain", true, 4}, kernel_candidate{"last", true, 4}};
    CHECK(with(portable{}).kernel(list) == 2);
    const std::array<kernel_candidate, 2> special{kernel_candidate{"b", false, 2},
                                                  kernel_candidate{"a", false, 1}};
    CHECK(with(portable{}).kernel(special) == 1);
    CHECK_FALSE(bool(with(portable{}, fastest{}).kernel));
    const std::string wanted = "quick";
    const policy_set own = with(choose_kernel{[wanted](std::span<const kernel_candidate> k) {
        std::size_t i = 0;
        while (k[i].name != wanted) ++i;
        return i;
    }});
    CHECK(own.kernel(list) == 1);
}

TEST_CASE("policies: the others, a user's own, and the later of two") {
    CHECK_FALSE(with(fusion::none{}).fusion);
    CHECK(with(fusion::none{}, fusion::full{}).fusion);
    CHECK(with(eager{}).eager);
    CHECK(with(memory_limit{5}).memory_limit == 5);
    CHECK(with(allocation_limit{6}).allocation_limit == 6);
    CHECK(with(cpu_fallback::allow{}).fallback == cpu_fallback::mode::allow);
    CHECK(with(cpu_fallback::forbid{}, cpu_fallback::warn{}).fallback == cpu_fallback::mode::warn);
    CHECK(with(cache_folder{"a"}, cache_folder{"b"}).cache_folder == "b");
    static_assert(policy<quiet> && !policy<int>);
    CHECK(with(quiet{}).device_wish == "quiet");
    const policy_set copy = with(gpu_only{}, quiet{});  // sets are values
    CHECK(policy_set(copy).device(device(device_type::cpu)) < 0);
}

TEST_CASE("policies: what products may give up, each alone") {
    CHECK(with().allows(reduced_precision::none));
    CHECK_FALSE(with().allows(reduced_precision::bf16_3x));
    const policy_set split = with(precision::bf16_3x{});
    CHECK(split.allows(reduced_precision::bf16_3x));
    CHECK_FALSE(split.allows(reduced_precision::f16_accumulation));
    const policy_set both = with(precision::f16_accumulation{}, precision::bf16_3x{});
    CHECK(both.allows(reduced_precision::bf16_3x));
    CHECK(both.allows(reduced_precision::f16_accumulation));
    CHECK_FALSE(with(precision::bf16_3x{}, precision::strict{}).allows(reduced_precision::bf16_3x));
}
