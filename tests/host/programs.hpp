// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Problems over dense operands of whole numbers, solved by the host's loop and by the reference.
#pragma once

#include <pumice/exec/select.hpp>
#include <pumice/kernels/operands.hpp>

#include <vector>

namespace host_test {

namespace pm = pumice;

/// The program that reads a dense operand; twice it, where `doubled`.
inline pm::fused reading(int buffer, pm::dtype type, const pm::shape& extent, bool doubled) {
    auto p = std::make_shared<pm::program>();
    const auto x = p->push({pm::instruction::code::leaf, type, 0, {}, nullptr});
    p->outputs = {
        doubled
            ? p->push({pm::instruction::code::apply, type, 0, {x, x}, &pm::op_info_of<pm::op::add>})
            : x};
    return {p, {{buffer, type, 0, pm::row_major_strides(extent)}}, {}, {}};
}
inline pm::fused storing(int buffer, pm::dtype type, const pm::shape& extent) {
    auto p = std::make_shared<pm::program>();
    p->outputs = {p->push({pm::instruction::code::given, type, 0, {}, nullptr})};
    return {p, {}, {}, {{buffer, type, 0, pm::row_major_strides(extent)}}};
}

/// Whether the loop of a problem, which there is, writes the bytes that the reference does. Buffers
/// hold small numbers, which sums of half types hold too.
template <class Problem>
bool same_as_reference(const Problem& p) {
    std::vector<std::vector<std::byte>> ours, theirs;
    visit_operands(p, [&](const pm::operand& o, const pm::shape& domain, bool) {
        if (!o.in_memory()) return;
        const auto number = static_cast<std::size_t>(o.buffer);
        if (ours.size() <= number) ours.resize(number + 1);
        if (!ours[number].empty()) return;
        std::int64_t count = 1;  // steps are no less than 0
        for (int d = 0; d < domain.rank(); ++d) count += o.steps[d] * (domain[d] - 1);
        if (pm::element_count(domain) == 0) count = 0;
        ours[number].resize(static_cast<std::size_t>(pm::byte_count(o.type, count)) + 8);
        std::uint32_t seed = static_cast<std::uint32_t>(o.buffer) + 1;
        pm::visit(o.type, [&]<class T>(T) {
            for (std::int64_t i = 0; i < count; ++i) {
                seed = seed * 1664525u + 1013904223u;
                pm::detail::store_element(ours[number].data(), i, pm::convert<T>(int(seed >> 30)));
            }
        });
    });
    theirs = ours;
    const auto buffers_of = [](std::vector<std::vector<std::byte>>& all) {
        pm::host_buffers b;
        for (std::vector<std::byte>& v : all) b.memory.push_back(v.data());
        return b;
    };
    const pm::host_buffers a = buffers_of(ours), b = buffers_of(theirs);
    pm::host_loop loop;
    find_loop(p, a, loop);
    if (!loop) return false;
    const pm::thread_pool threads(3);
    loop.run(nullptr, threads);
    reference(p, b);
    return ours == theirs;
}

}  // namespace host_test
