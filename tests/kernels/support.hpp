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

/// A program that is one operand of f32 over `domain`, dense in a buffer: a leaf, or what is given
/// and stored there.
inline pumice::fused over(const pumice::shape& domain, pumice::instruction::code what, int buffer) {
    using namespace pumice;
    fused f;
    program p;
    p.outputs.push_back(p.push({what, dtype::f32, 0}));
    f.body = std::make_shared<program>(std::move(p));
    (what == instruction::code::leaf ? f.leaves : f.outputs)
        .push_back({buffer, dtype::f32, 0, row_major_strides(domain)});
    return f;
}

}  // namespace pumice_test
