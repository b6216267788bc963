// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Products whose workgroups are too few for a device, cut along k: each slice is a product of its
// own, whose sums a reduction joins.
#pragma once

#include <pumice/kernels/product.hpp>
#include <pumice/kernels/reduce.hpp>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

/// The sums of the slices of a product, f32 over batch ++ {slice, m} ++ columns, in the launches'
/// scratch behind what its factors have of it.
struct slice_sums {
    shape extent;
    int slice_axis;
    std::int64_t begin;  // bytes

    slice_sums(const product& p, int slices) : slice_axis(p.batch.rank()), begin(p.scratch) {
        extent = p.batch + slices + p.m + p.columns;
    }
    std::int64_t end() const { return begin + byte_count(dtype::f32, element_count(extent)); }
    operand whole() const { return {-2, dtype::f32, begin / 4, row_major_strides(extent)}; }
};

/// Whether so many slices divide k, into multiples of 64, which keep alignment to 16 bytes.
inline bool can_slice(const product& p, int slices) {
    return p.depth.rank() == 1 && p.k % (slices * 64) == 0 && p.sum == arithmetic::f32 &&
           p.batch.rank() + p.columns.rank() + 3 <= max_rank;
}

/// One more batch axis, of the slices; its epilogue stores what is summed. Pre: can_slice.
inline product sliced(product p, int slices) {
    const slice_sums sums(p, slices);
    const int axis = sums.slice_axis;
    const std::int64_t part = p.k / slices;
    for (fused* f : {&p.left, &p.right})
        if (!p.gathers() || f != (p.windows_left ? &p.left : &p.right))  // whose loader finds them
            for (operand* o : operands_of(*f)) o->steps.insert(axis, o->steps[axis + 1] * part);
    p.batch.push_back(slices);
    p.k = part;
    p.depth = {part};
    auto stored = std::make_shared<program>();
    stored->outputs.push_back(stored->push({instruction::code::given, dtype::f32}));
    p.epilogue = {};
    p.epilogue.body = std::move(stored);
    p.epilogue.outputs.push_back(sums.whole());
    return p;
}

/// epilogue(sum over the slices).
inline reduce_problem join_of(const product& p, int slices) {
    const slice_sums sums(p, slices);
    reduce_problem r{reduction::sum, p.batch + p.m + p.columns, {slices}, {}, p.epilogue};
    operand o = sums.whole();
    const std::int64_t step = o.steps[sums.slice_axis];
    o.steps.erase(sums.slice_axis);
    o.steps.push_back(step);
    r.prologue = leaf_program(o);
    return r;
}

inline support supports_join(const reduce_problem& r, const device_info& device) {
    support s = reduce_vector_columns::supports(r, device);
    return s.yes ? s : reduce_columns::supports(r, device);
}
inline launch join_launch(const reduce_problem& r, const device_info& device) {
    return reduce_vector_columns::supports(r, device).yes ? reduce_vector_columns::make(r, device)
                                                          : reduce_columns::make(r, device);
}

/// Sums beyond which tiles fill a device without slices.
inline double most_sums(const device_info& device) { return 2 * 128 * 128 * device.rates().groups; }

/// Adds the ways of a product in slices of k, as many as stand in `counts` and give no more than
/// `most` sums; the fourth size of a configuration is their number, 0 for none.
template <class Ways>
void add_slices(support& s, const product& p, std::initializer_list<int> counts, double most,
                const device_info& device, Ways&& ways) {
    const double sums = static_cast<double>(element_count(p.batch) * p.m * p.n);
    for (const int slices : counts) {
        if (sums * slices > most || !can_slice(p, slices)) return;
        const support join = supports_join(join_of(p, slices), device);
        if (!join.yes) return;
        for (const configuration& way : ways(sliced(p, slices)))
            s.ways.push_back({{way.sizes[0], way.sizes[1], way.sizes[2], slices},
                              way.seconds + join.best().seconds});
    }
}
inline product sliced_as(const product& p, const configuration& way) {
    return way.sizes[3] ? sliced(p, way.sizes[3]) : p;
}
inline array_list<launch> with_join(launch first, const product& p, const configuration& way,
                                    const device_info& device) {
    array_list<launch> launches{std::move(first)};
    if (way.sizes[3]) launches.push_back(join_launch(join_of(p, way.sizes[3]), device));
    return launches;
}
inline std::int64_t slice_bytes(const product& p, const configuration& way) {
    return way.sizes[3] ? slice_sums(p, way.sizes[3]).end() : p.scratch;
}

}}}  // namespace pumice::PUMICE_ABI::detail
