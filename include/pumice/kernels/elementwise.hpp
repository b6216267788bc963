// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The elementwise kernels: contiguous in runs, transposed in tiles, and any strides
// (shaders/elementwise.slang).
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/expr/host.hpp>
#include <pumice/kernels/collapse.hpp>
#include <pumice/kernels/parameter_block.hpp>
#include <pumice/kernels/seconds.hpp>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

inline constexpr std::int64_t elementwise_group = 256;

/// The launch that the kernels share; `domain` counts what has work, `together` of it a
/// workgroup's.
inline launch elementwise_launch(const elementwise_problem& p, shape domain, std::int64_t together,
                                 const char* entry, const device_info& device) {
    array_list<operand> all = p.body.leaves;
    all.append(p.body.outputs.begin(), p.body.outputs.end());
    const bool wide = needs_wide_index(all, p.domain);
    const int rank = domain.rank();
    launch l("elementwise", entry, {emitted_name(p.body.body->view()), index_type(wide), rank},
             {&p.body});
    l.threads = static_cast<int>(elementwise_group);
    const std::int64_t count = element_count(domain);
    const std::uint32_t width = spread(l, (count + together - 1) / together, device);
    write_block(l, wide, "ElementwiseParams",
                {{"P.Args args", block::arguments{p.body, p.domain}},
                 {"Places<P, I, R> places", block::places{p.body, rank}},
                 {"Extents<I, R> extent", block::extents{domain}},
                 {"I count", count},
                 {"I row", p.domain.back()},
                 {"I rows", rank > 1 ? p.domain[rank - 2] : 1},
                 {"uint width", width}});
    return l;
}

/// Expected at a share of the rate of a copy.
inline double elementwise_seconds(const elementwise_problem& p, double share,
                                  const device_info& device) {
    return seconds_to_move(device, bytes_of(p.body, p.domain), share,
                           static_cast<double>(element_count(p.domain)), 16);
}

inline elementwise_problem collapsed(elementwise_problem p) {
    collapse(p.domain, operands_of(p.body), 0, p.domain.rank());
    return p;
}

/// How the tiled kernel sees a problem: the axis along which the leaves are contiguous stands
/// before the last one. `refused` says why where it cannot.
struct elementwise_tiles {
    static constexpr std::int64_t side = 64;

    elementwise_problem p;
    const char* refused = nullptr;

    explicit elementwise_tiles(const elementwise_problem& asked) {
        // Most problems have no such operand: they are not copied. Collapsing keeps the last steps.
        int last = asked.domain.rank() - 1;
        while (last > 0 && asked.domain[last] == 1) --last;
        bool turned = false;
        for (const operand& o : asked.body.leaves)
            turned |= o.in_memory() && last > 0 && o.steps[last] != 0 && o.steps[last] != 1;
        if (!turned) refused = "no operand is contiguous along another axis";
        else if (asked.body.outputs.size() != 1) refused = "the program has more than one output";
        else if (asked.body.outputs[0].steps[last] != 1)
            refused = "the output is not contiguous along the innermost axis";
        if (refused) return;
        p = collapsed(asked);
        last = p.domain.rank() - 1;
        int along = last;
        for (const operand& o : p.body.leaves)
            if (o.in_memory() && o.steps[last] != 0 && o.steps[last] != 1)
                for (int i = 0; i < last; ++i)
                    if (o.steps[i] == 1 && (along == last || p.domain[i] > p.domain[along]))
                        along = i;
        if (along == last) refused = "no operand is contiguous along another axis";
        for (const operand& o : p.body.leaves)
            if (!refused && o.in_memory() && o.steps[along] != 0 && o.steps[along] != 1)
                refused = o.steps[last] == 1 ? "an operand lies along the output's axis"
                                             : "operands are contiguous along different axes";
        if (refused) return;
        move(p.domain, along, last);
        for (operand* o : operands_of(p.body)) move(o->steps, along, last);
    }
    std::int64_t rows() const { return p.domain[p.domain.rank() - 2]; }
    /// In which runs the leaves are read along their axis.
    vector_runs reads() const {
        elementwise_problem read = p;
        read.body.outputs.clear();
        const int last = p.domain.rank() - 1;
        move(read.domain, last - 1, last + 1);
        for (operand* o : operands_of(read.body)) move(o->steps, last - 1, last + 1);
        return runs_of({&read.body}, read.domain, true, 8);
    }
    /// How results are stored along theirs: in runs of so many, skewed where rows begin anywhere:
    /// each from its first aligned element on, so that tiles overlap by a run.
    struct stored_runs {
        int elements;
        bool skewed;
        std::int64_t columns() const { return skewed ? side - elements : side; }  // of a tile
    };
    stored_runs stores() const {
        elementwise_problem written = p;
        written.body.leaves.clear();
        const int run = runs_of({&written.body}, written.domain, true, 8).elements;
        const bool skewed =
            run == 1 && !is_packed(p.body.outputs[0].type) && p.domain.back() >= 4 * side;
        return {skewed ? 4 : run, skewed};
    }
    /// How much more a tile holds than the domain has of it: of short axes it is mostly edge.
    double waste() const {
        const auto of = [](std::int64_t n) {
            return static_cast<double>((n + side - 1) / side * side) / static_cast<double>(n);
        };
        return of(rows()) * of(p.domain.back());
    }
    /// Bytes of shared memory: results as they are computed, in rows of so many.
    std::int64_t shared(std::int64_t pitch) const {
        return side * pitch * size_of(info(p.body.type()).arithmetic);
    }
    /// Of the rows in shared memory, where there is room: odd, so that the elements of a column
    /// lie in banks of their own, as do skewed neighbours' first ones.
    int pitch(const stored_runs& stored, const device_info& device) const {
        const std::int64_t step = p.body.outputs[0].steps[p.domain.rank() - 2];
        const std::int64_t more = stored.skewed && step % 2 != 0 ? (step + 2) & 3 : 1;
        return static_cast<int>(shared(side + more) <= device.shared_memory ? side + more : side);
    }
    /// Evaluations of a long program are not written out sixteen times.
    int batch(int accesses) const {
        std::size_t ops = 0;
        for (const instruction& i : p.body.body->code) ops += i.arity() != 0;
        return ops <= 4 ? accesses : std::max(accesses / 4, 1);
    }

private:
    /// Axis `from` stands just before axis `before`.
    static void move(index_list& list, int from, int before) {
        const std::int64_t v = list[from];
        list.erase(from);
        list.insert(before - 1, v);
    }
};

}  // namespace detail

/// What every elementwise kernel computes.
inline void reference(const elementwise_problem& p, const host_buffers& buffers) {
    run_on_host(p.body.body->view(), p.domain, buffers.arrays(p.body.leaves),
                buffers.scalars(p.body), buffers.arrays(p.body.outputs));
}

/// One element per invocation.
struct elementwise_strided {
    using problem_type = elementwise_problem;
    static constexpr std::string_view name = "elementwise/strided";
    static constexpr bool portable = true;

    static support supports(const elementwise_problem& p, const device_info& device) {
        if (support s = supports_types(p.body, device); !s.yes) return s;
        const elementwise_problem q = detail::collapsed(p);
        memory_traffic t;
        t.add(q.body, q.domain, q.domain.rank() - 1);
        return support::in(seconds_to_move(device, t, 0.8,
                                           static_cast<double>(element_count(q.domain)), 12));
    }
    static launch make(const elementwise_problem& asked, const device_info& device) {
        const elementwise_problem p = detail::collapsed(asked);
        return detail::elementwise_launch(p, p.domain, detail::elementwise_group, "strided",
                                          device);
    }
};

/// A run of the innermost axis per invocation, 16-byte accesses.
struct elementwise_vectors {
    using problem_type = elementwise_problem;
    static constexpr std::string_view name = "elementwise/vectors";
    static constexpr bool portable = false;

    static support supports(const elementwise_problem& asked, const device_info& device) {
        support s = supports_types(asked.body, device);
        if (!s.yes) return s;
        const elementwise_problem p = detail::collapsed(asked);
        if (!runs_of({&p.body}, p.domain, false))
            return support::no(
                "an operand is neither contiguous, nor constant, along the innermost axis, or not "
                "aligned to 4 elements");
        return support::in(detail::elementwise_seconds(p, 1, device));
    }
    static launch make(const elementwise_problem& asked, const device_info& device) {
        const elementwise_problem p = detail::collapsed(asked);
        const vector_runs r = runs_of({&p.body}, p.domain, false);
        shape runs = p.domain;
        runs[runs.rank() - 1] = (runs.back() + r.elements - 1) / r.elements;
        launch l =
            detail::elementwise_launch(p, runs, detail::elementwise_group, "vectors", device);
        l.specialise({r.elements, r.masks[0]});
        return l;
    }
};

/// Leaves contiguous along another axis than the output: 64 x 64 elements per workgroup change
/// places in shared memory.
struct elementwise_tiled {
    using problem_type = elementwise_problem;
    static constexpr std::string_view name = "elementwise/tiled";
    static constexpr bool portable = false;

    static support supports(const elementwise_problem& asked, const device_info& device) {
        support s = supports_types(asked.body, device);
        if (!s.yes) return s;
        const detail::elementwise_tiles t(asked);
        if (t.refused) return support::no(t.refused);
        if (const std::int64_t bytes = t.shared(t.side); bytes > device.shared_memory)
            return support::no({"a tile takes ", bytes, " bytes of shared memory, the device has ",
                                device.shared_memory});
        return support::in(detail::elementwise_seconds(t.p, 0.95 / (0.55 + 0.45 * t.waste()),
                                                       device));
    }
    static launch make(const elementwise_problem& asked, const device_info& device) {
        const detail::elementwise_tiles t(asked);
        constexpr std::int64_t side = detail::elementwise_tiles::side;
        const auto stored = t.stores();
        shape tiles = t.p.domain;
        const int last = tiles.rank() - 1;
        tiles[last - 1] = (tiles[last - 1] + side - 1) / side;
        tiles[last] = (tiles[last] + stored.columns() - 1) / stored.columns();
        launch l = detail::elementwise_launch(t.p, tiles, 1, "tiled", device);
        const vector_runs r = t.reads();
        l.threads = 0;  // a tile is a third of the shared memory that many devices have
        l.specialise({r.elements, stored.elements, r.masks[0], t.batch(16 / r.elements),
                      t.pitch(stored, device), stored.skewed ? 1 : 0});
        return l;
    }
};

static_assert(kernel_type<elementwise_strided> && kernel_type<elementwise_vectors> &&
              kernel_type<elementwise_tiled>);

}}  // namespace pumice::PUMICE_ABI
