// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What a plan for all extents up to a bound needs beyond others, behind a pointer: a program
// without such plans compiles none of it.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/span.hpp>
#include <pumice/core/device_info.hpp>
#include <pumice/graph/any_tensor.hpp>

namespace pumice { inline namespace PUMICE_ABI {

struct plan;
struct choice;
struct policy_set;

/// Of a plan whose inputs have axes of one extent that each run brings. The numbers of the plan
/// itself (plan::range) are those of the largest.
class plan_range {
public:
    virtual ~plan_range() = default;

    /// The extent that a run's inputs bring. Throws errc::shape_mismatch where they bring several.
    virtual std::int64_t extent_of(span<const any_tensor> inputs) const = 0;
    /// Whether input number `index` may have such a shape, as far as it alone is concerned. Throws
    /// errc::shape_mismatch for an extent that is out of range.
    virtual bool takes(std::size_t index, const shape& s) const = 0;
    /// The plan's values, and the numbers that a run brings, for an extent; with `steps` its steps
    /// too. Throws errc::unsupported where a value would take more memory than in the plan itself.
    virtual plan at(std::int64_t extent, bool steps) const = 0;
    /// A kernel whose launches serve all extents: only numbers of their parameter blocks depend on
    /// them (launch::varying). Throws errc::unsupported with the reasons where there is none.
    virtual choice choose(const plan& p, std::size_t step, const device_info& device,
                          const policy_set& policies) const = 0;
};

}}  // namespace pumice::PUMICE_ABI
