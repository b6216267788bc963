// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Updates joined where keys say, on the host: in order, whether they are sorted or not.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/thread_cache.hpp>
#include <pumice/host/loop.hpp>
#include <pumice/kernels/scatter.hpp>

#include <algorithm>
#include <cstring>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

template <class T>
class host_scatter {
public:
    host_scatter(const scatter_problem& p, const host_buffers& buffers)
        : p_(p), keys_(buffers.array(p.keys)), order_(buffers.array(p.order)),
          updates_(buffers.array(p.updates)), data_(buffers.array(p.data)),
          output_(buffers.array(p.output)) {}

    void run() {
        if constexpr (!packed_element<T>) {
            switch (p_.what) {
                case scattering::replace: return in_place([](T, T u) { return u; });
                case scattering::max:
                    return in_place([](T v, T u) { return wide(u) < wide(v) || v != v ? v : u; });
                case scattering::min:
                    return in_place([](T v, T u) { return wide(v) < wide(u) || v != v ? v : u; });
                case scattering::sum:
                    if constexpr (exact) return in_place(add);
                    else return rounded_once([](W v, W u) { return v + u; });
                case scattering::prod:
                    if constexpr (exact) return in_place(multiply);
                    else return rounded_once([](W v, W u) { return v * u; });
            }
        }
    }

private:
    using W = widest_of<T>;
    using sums = std::conditional_t<std::is_integral_v<W>, std::uint64_t, W>;  // they wrap
    /// Whether sums and products in T are those in the widest type, rounded or wrapped at the end.
    static constexpr bool exact = !is_floating(dtype_of<T>) || std::is_same_v<T, W>;

    [[gnu::always_inline]] static W wide(T v) { return static_cast<W>(v); }
    static constexpr auto add = [](T v, T u) {
        return convert<T>(static_cast<W>(static_cast<sums>(wide(v)) + static_cast<sums>(wide(u))));
    };
    static constexpr auto multiply = [](T v, T u) {
        return convert<T>(static_cast<W>(static_cast<sums>(wide(v)) * static_cast<sums>(wide(u))));
    };

    /// f(row of the output, row of the updates) for each update that goes somewhere, in order.
    template <class F>
    [[gnu::always_inline]] void each(F&& f) const {
        const std::int64_t next = order_.steps[0];
        const auto* const order = reinterpret_cast<const std::int64_t*>(order_.data);
        each_as_it_comes([&](std::int64_t row, std::int64_t i) {
            f(row, order ? order[order_.offset + i * next] : i);
        });
    }
    template <class F>
    [[gnu::always_inline]] void each_as_it_comes(F&& f) const {
        if (p_.keys.type == dtype::i64) each_of<std::int64_t>(f);
        else each_of<std::int32_t>(f);
    }
    template <class Key, class F>
    [[gnu::always_inline]] void each_of(F& f) const {
        const auto* const keys = reinterpret_cast<const Key*>(keys_.data) + keys_.offset;
        const std::int64_t step = keys_.steps[0], rows = p_.rows, count = p_.count,
                           wraps = p_.from_end ? rows : 0;
        const auto inside = [=](std::int64_t row) {
            return static_cast<std::uint64_t>(row) < static_cast<std::uint64_t>(rows);
        };
        const auto one = [=, &f](std::int64_t i) {
            std::int64_t row = keys[i * step];
            row += row < 0 ? wraps : 0;
            if (inside(row)) f(row, i);
        };
        std::int64_t i = 0;
        // Most are inside, and four keys are loaded at once.
        for (; step == 1 && i + 4 <= count; i += 4) {
            const Key* const k = keys + i;
            if (inside(k[0]) && inside(k[1]) && inside(k[2]) && inside(k[3])) {
                f(k[0], i);
                f(k[1], i + 1);
                f(k[2], i + 2);
                f(k[3], i + 3);
            } else {
                for (int j = 0; j < 4; ++j) one(i + j);
            }
        }
        for (; i < count; ++i) one(i);
    }
    /// Whether elements of dense arrays, or one again and again, go as they come to elements of
    /// one.
    bool dense() const {
        return p_.width == 1 && !order_.data && output_.steps[0] == 1 &&
               (updates_.steps[0] == 0 || updates_.steps[0] == 1);
    }
    /// Update k of such is v[k & every()]: all bits, or none where one stands for all.
    std::int64_t every() const { return -updates_.steps[0]; }
    /// Makes the output of the data, where they are not one array already: both are dense then.
    void take_data_over() const {
        if (data_.data != output_.data)
            std::memcpy(first_of(output_), first_of(data_),
                        static_cast<std::size_t>(p_.rows) * sizeof(T));
    }
    static T* first_of(const host_array& a) { return reinterpret_cast<T*>(a.data) + a.offset; }
    /// join(to, from) of each element of a line. Most have one.
    template <class To, class Join>
    [[gnu::always_inline]] static void line(To* to, std::int64_t to_step, T* from,
                                            std::int64_t from_step, std::int64_t width,
                                            Join& join) {
        join(*to, *from);
        for (std::int64_t c = 1; c < width; ++c) join(to[c * to_step], from[c * from_step]);
    }

    template <class Join>
    void in_place(Join join) const {
        take_data_over();
        T *const out = first_of(output_), *const v = first_of(updates_);
        const std::int64_t width = p_.width, down = output_.steps[0], along = output_.steps[1],
                           next = updates_.steps[0], step = updates_.steps[1];
        const auto put = [&](T& to, T u) { to = join(to, u); };
        if (dense())
            return each_as_it_comes([=, every = every()](std::int64_t i, std::int64_t k) {
                put(out[i], v[k & every]);
            });
        each([=](std::int64_t row, std::int64_t update) {
            line(out + row * down, along, v + update * next, step, width, put);
        });
    }

    /// A function of its own, whose loop has all that it needs in registers.
    template <class Join>
    [[gnu::noinline]] void join_dense_updates(W* total, const T* v, Join join) const {
        each_as_it_comes([=, every = every()](std::int64_t i, std::int64_t k) {
            total[i] = join(total[i], wide(v[k & every]));
        });
    }
    /// In the widest type, and to T when all are joined: dense, or of few updates by rows.
    template <class Join>
    void rounded_once(Join join) const {
        T *const out = first_of(output_), *const v = first_of(updates_);
        const std::int64_t width = p_.width, down = output_.steps[0], along = output_.steps[1],
                           next = updates_.steps[0], step = updates_.steps[1];
        const bool few = p_.count < p_.rows / 8;
        array_list<std::int64_t> rows;  // those that are written, ascending
        if (few) {
            each([&](std::int64_t row, std::int64_t) { rows.push_back(row); });
            std::sort(rows.begin(), rows.end());
            rows.resize(static_cast<std::size_t>(std::unique(rows.begin(), rows.end()) -
                                                 rows.begin()));
        }
        const std::int64_t some = few ? static_cast<std::int64_t>(rows.size()) : p_.rows;
        const thread_room room(static_cast<std::size_t>(some * width) * sizeof(W));
        auto* const total = static_cast<W*>(room.data());
        const auto each_line = [&](const auto& f) {
            for (std::int64_t i = 0; i < some; ++i) {
                const std::int64_t row = few ? rows[static_cast<std::size_t>(i)] : i;
                line(total + i * width, 1, out + row * down, along, width, f);
            }
        };
        const auto put = [&](W& to, T u) { to = join(to, wide(u)); };
        if constexpr (std::is_same_v<T, float>)
            if (!few && dense()) {
                convert_each<T, W>(first_of(data_), 1, total, 1, some);
                join_dense_updates(total, v, join);
                return convert_each<W, T>(total, 1, out, 1, some);
            }
        take_data_over();
        each_line([](W& w, T& t) { w = wide(t); });
        if (few)
            each([&](std::int64_t row, std::int64_t update) {
                const std::int64_t i =
                    std::lower_bound(rows.begin(), rows.end(), row) - rows.begin();
                line(total + i * width, 1, v + update * next, step, width, put);
            });
        else if (dense()) join_dense_updates(total, v, join);
        else
            each([=](std::int64_t row, std::int64_t update) {
                line(total + row * width, 1, v + update * next, step, width, put);
            });
        each_line([](W& w, T& t) { t = convert<T>(w); });
    }

    const scatter_problem& p_;
    host_array keys_, order_, updates_, data_, output_;
};

template <std::same_as<scatter_problem> P>
void scatter_all(const P& p, const host_buffers& buffers, const thread_pool&) {
    visit(p.output.type, [&]<class T>(T) { host_scatter<T>(p, buffers).run(); });
}

template <std::same_as<scatter_op> Op>
void scatter_dense(const host_loop& bound, std::byte* to, const thread_pool& threads) {
    const auto& op = *static_cast<const Op*>(bound.what);
    const auto& given = *static_cast<const host_operands*>(bound.operands);
    const node &data = *given.inputs[0], &keys = *given.inputs[1], &updates = *given.inputs[2];
    const strides dense{1, 1};
    scatter_problem p;
    p.what = op.what;
    p.from_end = op.from_end;
    p.count = keys.count();
    p.rows = data.count();
    p.width = 1;
    p.keys = {0, keys.type, 0, {1}};
    p.order = {-1, dtype::i64, 0, {1}};
    p.updates = {1, updates.type, 0, dense};
    p.data = {2, given.type, 0, dense};
    p.output = {3, given.type, 0, dense};
    scatter_all(p, {{first_value(keys), first_value(updates), first_value(data), to}}, threads);
}
/// Of little that lies dense: elements of a list, by keys as they come.
template <std::same_as<scatter_op> Op>
void bind_loop(const Op& op, const host_operands& given, host_loop& out) {
    if (given.inputs.size() != 3 || given.extent.rank() != 1 || given.layout ||
        is_packed(given.type) || given.count == 0)
        return;
    for (const node_ptr& input : given.inputs)
        if (!input->row_major()) return;
    out.what = &op;
    out.operands = &given;
    out.loop = scatter_dense<Op>;
    out.dense = true;
    out.count = given.count + given.inputs[1]->count();
}

}  // namespace detail

template <std::same_as<scatter_problem> P>
void find_loop(const P& p, const host_buffers& buffers, host_loop& out) {
    if (!is_packed(p.output.type) && p.width > 0 && p.data.buffer == p.output.buffer &&
        p.data.offset == p.output.offset && p.data.steps == p.output.steps)
        out.solve<detail::scatter_all<P>>(p, buffers);
}

}}  // namespace pumice::PUMICE_ABI
