// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Elementwise work of the host device: a native loop or a program over any strides, in several
// threads.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/thread_pool.hpp>
#include <pumice/host/loop.hpp>
#include <pumice/host/values.hpp>
#include <pumice/kernels/collapse.hpp>
#include <pumice/kernels/reference.hpp>

#include <optional>

namespace pumice { inline namespace PUMICE_ABI {

/// outputs[k][c] = program(leaves[..][c]) for every c in `domain`.
struct host_elementwise {
    program_view body;
    native_loop* native = nullptr;  // the same, where there is one
    shape domain;
    array_list<host_array> leaves;
    span<const scalar> scalars;
    array_list<host_array> outputs;  // overlap no leaf, but for one that lies there (host_program)

    void run(const thread_pool& threads) {
        array_list<host_array*> both;
        for (auto* list : {&leaves, &outputs})
            for (host_array& a : *list) both.push_back(&a);
        collapse(domain, both, 0, domain.rank());
        if (short_rows_follow()) return run_short_rows(threads);
        const bool turned = put_long_axis_last(both);
        const std::int64_t count = element_count(domain);
        const std::int64_t parts = (count + thread_part - 1) / thread_part;
        threads.run(parts, parts_for_a_thread(thread_part), [&](std::int64_t part) {
            const std::int64_t begin = part * thread_part,
                               end = std::min(begin + thread_part, count);
            if (native) run_native(begin, end, turned);
            else run_program(begin, end, turned);
        });
    }

private:
    /// Whether rows are short and the results' lie one behind the other, so that a block holds
    /// several, which other operands are copied to.
    bool short_rows_follow() const {
        if (domain.rank() < 2 || domain.back() >= short_line || element_count(domain) == 0)
            return false;
        for (const host_array& a : leaves)
            if (a.format || !a.map.axes.empty() || is_packed(a.type)) return false;
        return std::all_of(outputs.begin(), outputs.end(), [&](const host_array& a) {
            return follow(a, domain.rank() - 2) && !is_packed(a.type);
        });
    }
    /// Whether what `a` has behind `axis` lies dense, one behind the other along it.
    bool follow(const host_array& a, int axis) const {
        const int last = domain.rank() - 1;
        if (a.steps[last] != 1) return false;
        for (int i = axis; i < last; ++i)
            if (a.steps[i] != a.steps[i + 1] * domain[i + 1]) return false;
        return true;
    }
    /// The axis along which a block goes on: not the last but one where that is short too.
    int axis_of_blocks() const {
        const int axis = domain.rank() - 2;
        if (axis == 0 || domain[axis] * domain[axis + 1] > host_program::block / 4) return axis;
        for (const host_array& a : outputs)
            if (!follow(a, axis - 1)) return axis;
        return domain[axis - 1] > domain[axis] ? axis - 1 : axis;
    }
    void run_short_rows(const thread_pool& threads) const {
        const int axis = axis_of_blocks();
        shape cells = domain;  // whose last axis is that of the blocks
        std::int64_t cell = 1;
        while (cells.rank() > axis + 1) cell *= cells.back(), cells.erase(cells.rank() - 1);
        const std::int64_t length = cells.back(), count = element_count(cells),
                           share = std::max<std::int64_t>(1, thread_part / cell),
                           most = host_program::block / cell;
        threads.run((count + share - 1) / share, parts_for_a_thread(share * cell),
                    [&](std::int64_t part) {
                        dense_cells block(*this, axis, cell);
                        const std::int64_t end = std::min(count, (part + 1) * share);
                        for (std::int64_t i = part * share; i < end;) {
                            const std::int64_t from = i % length,
                                               n = std::min({most, end - i, length - from});
                            index_list at = row_at(cells, i / length);
                            at[axis] = from;
                            block.run(at, n);
                            i += n;
                        }
                    });
    }
    /// The operands of a block, as one dense row: of cells along an axis, each what lies behind it.
    class dense_cells {
    public:
        dense_cells(const host_elementwise& work, int axis, std::int64_t cell)
            : work_(work), axis_(axis), cell_(cell), in_(work.leaves), out_(work.outputs),
              room_(in_.size() * 8 * host_program::block) {
            auto* room = static_cast<std::byte*>(room_.data());
            for (const instruction& i : work.body.code)
                if (i.what == instruction::code::iota) in_[i.index].type = i.type;
            for (std::size_t k = 0; k < in_.size(); ++k, room += 8 * host_program::block)
                if (!work.follow(in_[k], axis)) in_[k].data = room, in_[k].offset = 0;
            for (auto* list : {&in_, &out_})
                for (host_array& a : *list) a.steps = strides::filled(1, 1);
            if (!work.native) machine_.emplace(work.body, in_, work.scalars, out_);
        }
        /// n cells from the coordinates `at` on.
        void run(const index_list& at, std::int64_t n) {
            const void* in[max_leaves];
            for (std::size_t k = 0; k < in_.size(); ++k) {
                const host_array& a = work_.leaves[k];
                if (work_.follow(a, axis_)) in_[k].offset = offset_of(a, at);
                else if (a.data) copy(a, offset_of(a, at), in_[k].data, n);
                else count(a, offset_of(a, at), in_[k], n);
                if (a.data) in[k] = in_[k].data + byte_offset(a.type, in_[k].offset);
            }
            for (std::size_t k = 0; k < out_.size(); ++k)
                out_[k].offset = offset_of(work_.outputs[k], at);
            const std::int64_t count = n * cell_;
            const host_array& out = out_[0];
            if (machine_) machine_->run({origin_, 0, count});
            else
                work_.native(in, work_.scalars.data(), out.data + byte_offset(out.type, out.offset),
                             count);
        }

    private:
        void copy(const host_array& a, std::int64_t from, std::byte* to, std::int64_t n) const {
            const int last = work_.domain.rank() - 1;
            const std::int64_t length = work_.domain[last];
            for (std::int64_t i = 0; i < cell_; i += length, from += a.steps[last - 1])
                detail::copy_rows(info(a.type).bits, a.data + byte_offset(a.type, from),
                                  a.steps[axis_], a.steps[last], to + byte_offset(a.type, i), cell_,
                                  n, length);
        }

        /// An iota.
        void count(const host_array& a, std::int64_t from, const host_array& to,
                   std::int64_t n) const {
            const int last = work_.domain.rank() - 1;
            const std::int64_t length = work_.domain[last];
            alignas(64) std::int64_t places[host_program::block], values[host_program::block];
            for (std::int64_t i = 0; i < cell_; i += length, from += a.steps[last - 1])
                for (std::int64_t c = 0; c < n; ++c)
                    for (std::int64_t k = 0; k < length; ++k)
                        places[c * cell_ + i + k] = from + c * a.steps[axis_] + k * a.steps[last];
            detail::cast_block(dtype::i64, to.type, places, values, n * cell_);
            detail::exchange(to.type, false, to.data, 0, 1, values, n * cell_);
        }

        const host_elementwise& work_;
        int axis_;
        std::int64_t cell_;
        array_list<host_array> in_, out_;
        detail::thread_room room_;
        index_list origin_ = index_list::filled(1, 0);
        std::optional<host_program> machine_;
    };
    /// Where the last axis is short, so would be the blocks along it. Gives whether axes changed
    /// places.
    bool put_long_axis_last(const array_list<host_array*>& arrays) {
        const int last = domain.rank() - 1;
        if (last <= 0 || domain[last] >= short_line) return false;
        int axis = last;
        for (int i = 0; i < last; ++i)
            if (domain[i] > domain[axis]) axis = i;
        if (axis == last) return false;
        std::swap(domain[axis], domain[last]);
        for (host_array* const a : arrays) std::swap(a->steps[axis], a->steps[last]);
        return true;
    }
    /// f of each stretch of a row within the elements [begin, end), counted in row-major order: row
    /// by row, or the first of all rows, then the next, as what lies close along another axis is
    /// near still then.
    template <class F>
    void each_stretch(std::int64_t begin, std::int64_t end, std::int64_t most, bool turned,
                      F&& f) const {
        const std::int64_t length = domain.back(), first = begin / length,
                           width = turned ? most : length;
        for (std::int64_t from = 0; from < length; from += width) {
            index_list at = row_at(domain, first);
            for (std::int64_t row = first * length; row < end; row += length) {
                std::int64_t i = std::max(from, begin - row);
                const std::int64_t to = std::min(std::min(length, from + width), end - row);
                for (; i < to; i += most) f(host_place{at, i, std::min(most, to - i)});
                next_row(domain, at);
            }
        }
    }

    void run_program(std::int64_t begin, std::int64_t end, bool turned) const {
        host_program machine(body, leaves, scalars, outputs);
        each_stretch(begin, end, host_program::block, turned,
                     [&](const host_place& to) { machine.run(to); });
    }

    /// What lies dense is used in place, the rest by way of dense blocks.
    void run_native(std::int64_t begin, std::int64_t end, bool turned) const {
        constexpr std::int64_t block = host_program::block;
        const int last = domain.rank() - 1;
        const host_array& out = outputs[0];
        std::int64_t most = end;
        for (const host_array& a : leaves)
            if (a.steps[last] != 1) most = block;
        if (out.steps[last] != 1) most = block;
        const detail::thread_room room((leaves.size() + 1) * 8 * block);
        auto* const dense = static_cast<std::byte*>(room.data());
        each_stretch(begin, end, most, turned, [&](const host_place& to) {
            const void* in[max_leaves];
            for (std::size_t k = 0; k < leaves.size(); ++k) {
                const host_array& a = leaves[k];
                const int bits = info(a.type).bits;
                in[k] = a.data + byte_offset(a.type, to.offset(a));
                if (to.step(a) == 1) continue;
                std::byte* const own = dense + (k + 1) * 8 * block;
                detail::copy_elements(bits, in[k], to.step(a), own, 1, to.count);
                in[k] = own;
            }
            const int bits = info(out.type).bits;
            std::byte* const place = out.data + byte_offset(out.type, to.offset(out));
            if (to.step(out) == 1) return native(in, scalars.data(), place, to.count);
            native(in, scalars.data(), dense, to.count);
            detail::copy_elements(bits, dense, 1, place, to.step(out), to.count);
        });
    }
};

namespace detail {

inline host_array broadcast_array(const node& n, const shape& to) {
    host_array a{bytes_on_host(n), n.type, n.offset, strides::filled(to.rank(), 0)};
    const int first = to.rank() - n.extent.rank();
    for (int i = std::max(-first, 0); i < n.extent.rank(); ++i)
        if (n.extent[i] != 1) a.steps[first + i] = n.layout()[i];
    return a;
}
inline span<const scalar> scalars_of(const elementwise_op& op, const host_operands& given) {
    return given.scalars.empty() ? span<const scalar>(op.scalars) : given.scalars;
}
inline void run_elementwise(const host_loop& bound, std::byte* to, const thread_pool& threads) {
    const auto& op = *static_cast<const elementwise_op*>(bound.what);
    const auto& given = *static_cast<const host_operands*>(bound.operands);
    const strides dense = row_major_strides(given.extent);
    host_elementwise work{op.body->view(), op.native, given.extent, {}, scalars_of(op, given), {}};
    for (const node_ptr& input : given.inputs)
        work.leaves.push_back(broadcast_array(*input, given.extent));
    for (const instruction& i : op.body->code)
        if (i.what == instruction::code::coded)
            work.leaves[i.index] = {first_value(*given.inputs[i.index]), i.format->memory, 0, dense,
                                    i.format};
    array_list<mapped_axis> map;
    if (!op.map.empty()) {
        const node& from = *given.inputs[0];
        for (std::size_t k = 0; k < op.map.size(); ++k) {
            mapped_axis a = op.map[k];
            a.step = from.layout()[static_cast<int>(k)];
            add_axis(map, a);
        }
        work.leaves[0] = {bytes_on_host(from),
                          from.type,
                          0,
                          dense,
                          nullptr,
                          {{map.data(), map.size()}, from.offset}};
    }
    for (const int axis : op.iota_axes) {
        strides steps = axis < 0 ? dense : strides::filled(given.extent.rank(), 0);
        if (axis >= 0) steps[axis] = 1;
        work.leaves.push_back({nullptr, given.type, 0, steps});
    }
    work.outputs.push_back({to, given.type, 0, given.layout ? *given.layout : dense});
    work.run(threads);
}
inline void run_native(const host_loop& bound, std::byte* to, const thread_pool&) {
    const auto& op = *static_cast<const elementwise_op*>(bound.what);
    const auto& given = *static_cast<const host_operands*>(bound.operands);
    op.native(bound.from, scalars_of(op, given).data(), to, bound.count);
}

/// Always: by the op's own loop or by its program, in one call where all lies dense.
inline void bind_loop(const elementwise_op& op, const host_operands& given, host_loop& out) {
    out.what = &op;
    out.operands = &given;
    out.count = given.count;
    out.loop = run_elementwise;
    if (!op.native || given.layout || out.count > least_part) return;
    const void** from = out.from;
    for (const node_ptr& input : given.inputs) {
        if (!input->row_major() || input->extent != given.extent) return;
        *from++ = first_value(*input);
    }
    out.dense = true;
    out.loop = run_native;
}

inline void run_program(const elementwise_problem& p, const host_buffers& b,
                        const thread_pool& threads) {
    const array_list<scalar> scalars = b.scalars(p.body);
    host_elementwise{p.body.body->view(),     nullptr, p.domain,
                     b.arrays(p.body.leaves), scalars, b.arrays(p.body.outputs)}
        .run(threads);
}

}  // namespace detail

inline void find_loop(const elementwise_problem& p, const host_buffers& buffers, host_loop& out) {
    out.solve<detail::run_program>(p, buffers);
}

}}  // namespace pumice::PUMICE_ABI
