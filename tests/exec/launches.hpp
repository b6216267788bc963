// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What a device would be asked for a graph.
#pragma once

#include <pumice/exec/select.hpp>
#include <pumice/graph/any_tensor.hpp>

#include <tests/support/walked_graph.hpp>

namespace test {

/// The launches of a graph, as a device plans them.
inline pumice::array_list<pumice::launch> launches_of(const pumice::any_tensor& t,
                                                      const pumice::device_info& device) {
    const pumice::plan_builder b = pumice_test::walked_graph(t).lowered();
    pumice::array_list<pumice::launch> all;
    for (const pumice::plan_step& s : b.made.steps)
        for (pumice::launch& l : pumice::choose(s.what, device, {}).launches)
            all.push_back(std::move(l));
    return all;
}

}  // namespace test
