// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Fused programs by hand, as kernels take them.
#pragma once

#include <pumice/graph/fused.hpp>

#include <tests/expr/support.hpp>

#include <memory>
#include <utility>
#include <vector>

namespace pumice_test {

inline pumice::fused made(const builder& b, pumice::array_list<pumice::operand> leaves = {},
                          pumice::array_list<pumice::operand> outputs = {}) {
    pumice::program p;
    p.code.append(b.view().code.begin(), b.view().code.end());
    p.outputs.append(b.view().outputs.begin(), b.view().outputs.end());
    pumice::fused f;
    f.body = std::make_shared<const pumice::program>(std::move(p));
    f.leaves = std::move(leaves);
    f.outputs = std::move(outputs);
    return f;
}

}  // namespace pumice_test
