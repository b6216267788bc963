// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Tensors are values, whatever memory they share: random views of one storage, which is read,
// written anew, joined with itself and let go, against a model in which every value has a vector of
// its own.
#include <pumice/front.hpp>

#include <tests/support/samples.hpp>
#include <tests/support/skip.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <random>

namespace pm = pumice;

namespace {

/// Row-major elements of its own; integers, so that every engine must give the same bits.
struct value {
    pm::shape extent;
    std::vector<std::int32_t> v;

    std::int64_t size() const { return pm::element_count(extent); }
};

/// A value of extent `to`, whose element at `index` is that of `from` at from_index(index).
value picked(const value& from, const pm::shape& to,
             const std::function<pm::index_list(const pm::index_list&)>& from_index) {
    value out{to, {}};
    const std::int64_t n = out.size();
    for (std::int64_t i = 0; i < n; ++i) {
        pm::index_list at = pm::index_list::filled(to.rank(), 0);
        std::int64_t rest = i;
        for (int d = to.rank() - 1; d >= 0; --d) {
            at[d] = rest % to[d];
            rest /= to[d];
        }
        const pm::index_list source = from_index(at);
        std::int64_t where = 0;
        for (int d = 0; d < from.extent.rank(); ++d) where = where * from.extent[d] + source[d];
        out.v.push_back(from.v[static_cast<std::size_t>(where)]);
    }
    return out;
}

std::int32_t wrapped(std::int64_t x) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(x));
}

/// A tensor beside what it should be.
struct pair {
    pm::any_tensor t;
    value m;
};

class player {
public:
    player(const pm::context& home, unsigned seed) : home_(home), random_(seed) {
        pm::shape extent;
        for (auto r = 1 + roll(3); r > 0; --r) extent.push_back(1 + roll(5));
        if (roll(2) == 0)
            extent = {extent[0], extent[0]};  // square, so that it meets its transposition
        value m{extent, {}};
        for (std::int64_t i = 0; i < m.size(); ++i) m.v.push_back(std::int32_t(roll(2000)) - 1000);
        pm::any_tensor t =
            pm::from_bytes(pm::dtype::i32, extent, std::as_bytes(std::span(m.v)), home);
        have_.push_back({std::move(t), std::move(m)});
    }

    void step() {
        const std::size_t at = std::size_t(roll(std::int64_t(have_.size())));
        switch (roll(11)) {
            case 8:
            case 9: assign_part(have_[at]); return;
            case 10: have_[at].t = have_[at].t + 0.0; return;  // its memory may go to itself
            case 0:
            case 1: return keep(view(view(have_[at])));
            case 2: return keep(combine(have_[at], same_shape(have_[at])));
            case 3:
                have_[at] = combine(have_[at], view_of_same_shape(have_[at]));
                return;  // over itself
            case 4: have_[at] = scaled(have_[at]); return;
            case 5: return keep(rejoined(have_[at]));
            case 6: pm::eval(std::span<const pm::any_tensor>(&have_[at].t, 1)); return;
            default:  // let go of a value whose memory others may still see
                if (have_.size() > 1) have_.erase(have_.begin() + std::ptrdiff_t(at));
        }
    }

    /// How many of the values are not what they should be; read in a random order.
    int wrong() {
        std::shuffle(have_.begin(), have_.end(), random_);
        int n = 0;
        for (const pair& p : have_)
            n += p.t.shape() != p.m.extent || pm::to_vector<std::int32_t>(p.t) != p.m.v;
        return n;
    }

private:
    std::int64_t roll(std::int64_t n) { return std::int64_t(random_() % std::uint64_t(n)); }
    void keep(pair p) {
        if (p.m.size() <= 4096 && have_.size() < 8) have_.push_back(std::move(p));
    }

    pair view(const pair& p) {
        const pm::shape& extent = p.m.extent;
        const int rank = extent.rank();
        switch (roll(6)) {
            case 0: {  // steps of either sign
                std::vector<pm::slice> slices;
                pm::shape to;
                std::vector<std::int64_t> starts, steps;
                for (int d = 0; d < rank; ++d) {
                    const std::int64_t step = (roll(2) ? 1 : -1) * (1 + roll(3)),
                                       start = roll(extent[d]),
                                       room = step > 0 ? extent[d] - 1 - start : start,
                                       count = 1 + roll(room / std::abs(step) + 1);
                    const std::int64_t stop = start + count * step;
                    slices.push_back({start, stop < 0 ? std::nullopt : std::optional(stop), step});
                    to.push_back(count);
                    starts.push_back(start);
                    steps.push_back(step);
                }
                return {pm::slice_view(p.t, slices), picked(p.m, to, [&](pm::index_list at) {
                            for (int d = 0; d < rank; ++d)
                                at[d] = starts[std::size_t(d)] + at[d] * steps[std::size_t(d)];
                            return at;
                        })};
            }
            case 1: {
                if (rank == 0) return p;
                const std::int64_t axis[] = {roll(rank)};
                return {pm::flip(p.t, axis), picked(p.m, extent, [&](pm::index_list at) {
                            const int d = int(axis[0]);
                            at[d] = extent[d] - 1 - at[d];
                            return at;
                        })};
            }
            case 2: {
                std::vector<std::int64_t> order;
                for (int d = 0; d < rank; ++d) order.push_back(d);
                std::shuffle(order.begin(), order.end(), random_);
                pm::shape to;
                for (const std::int64_t d : order) to.push_back(extent[int(d)]);
                return {pm::permute_dims(p.t, order),
                        picked(p.m, to, [&](const pm::index_list& at) {
                            pm::index_list from = at;
                            for (int d = 0; d < rank; ++d) from[int(order[std::size_t(d)])] = at[d];
                            return from;
                        })};
            }
            case 3: {
                if (rank >= 4) return p;
                pm::shape to = extent;
                to.insert(0, 1 + roll(3));
                return {pm::broadcast_to(p.t, to), picked(p.m, to, [&](pm::index_list at) {
                            at.erase(0);
                            return at;
                        })};
            }
            case 4: {
                value flat{{p.m.size()}, p.m.v};
                return {pm::reshape(p.t, {p.m.size()}), flat};
            }
            default: {
                if (rank >= 4) return p;
                const std::int64_t axis = roll(rank + 1);
                value m = p.m;
                m.extent.insert(int(axis), 1);
                return {pm::expand_dims(p.t, axis), m};
            }
        }
    }

    /// The value seen another way, of the same extent: turned, or two slices that overlap.
    pair view_of_same_shape(const pair& p) {
        for (int tries = 0; tries < 4; ++tries) {
            pair other = view(p);
            if (other.m.extent == p.m.extent) return other;
        }
        return p;
    }
    pair same_shape(const pair& p) {
        std::vector<const pair*> fit;
        for (const pair& q : have_)
            if (q.m.extent == p.m.extent) fit.push_back(&q);
        return fit.empty() ? p : *fit[std::size_t(roll(std::int64_t(fit.size())))];
    }

    pair combine(const pair& a, const pair& b) {
        value m = a.m;
        const auto each = [&](auto f) {
            for (std::size_t i = 0; i < m.v.size(); ++i) m.v[i] = f(a.m.v[i], b.m.v[i]);
        };
        switch (roll(3)) {
            case 0:
                each([](std::int64_t x, std::int64_t y) { return wrapped(x + y); });
                return {pm::apply<pm::op::add>(a.t, b.t), m};
            case 1:
                each([](std::int64_t x, std::int64_t y) { return wrapped(x - y); });
                return {pm::apply<pm::op::subtract>(a.t, b.t), m};
            default:
                each([](std::int32_t x, std::int32_t y) { return std::max(x, y); });
                return {pm::apply<pm::op::maximum>(a.t, b.t), m};
        }
    }
    pair scaled(const pair& p) {
        value m = p.m;
        const std::int64_t by = roll(7) - 3;
        for (std::int32_t& x : m.v) x = wrapped(x * by);
        return {pm::apply<pm::op::multiply>(p.t, double(by)), m};
    }
    /// A slice of it becomes a slice of a value of its shape, itself among them, turned or not; or
    /// a number.
    void assign_part(pair& p) {
        const int rank = p.m.extent.rank();
        std::vector<pm::slice> to, from;
        pm::shape count;
        std::vector<std::int64_t> begin, step, source, back;
        for (int d = 0; d < rank; ++d) {
            const std::int64_t n = p.m.extent[d], first = roll(n), s = 1 + roll(2),
                               last = first + roll((n - 1 - first) / s + 1) * s;
            begin.push_back(first);
            step.push_back(s);
            count.push_back((last - first) / s + 1);
            to.push_back({first, last + 1, s});
            back.push_back(roll(2) ? 1 : -1);
            source.push_back(roll(n - count[d] + 1));
            if (back[std::size_t(d)] > 0) {
                from.push_back({source[std::size_t(d)], source[std::size_t(d)] + count[d], 1});
            } else {
                source[std::size_t(d)] += count[d] - 1;
                const std::int64_t stop = source[std::size_t(d)] - count[d];
                from.push_back({source[std::size_t(d)],
                                stop < 0 ? std::nullopt : std::optional(stop), -1});
            }
        }
        const pair q = same_shape(p);  // as it is now
        const bool number = roll(4) == 0;
        value m = p.m;
        for (std::int64_t i = 0; i < pm::element_count(count); ++i) {
            std::int64_t rest = i, at = 0, other = 0, scale = 1;
            for (int d = rank - 1; d >= 0; --d) {
                const std::int64_t k = rest % count[d];
                rest /= count[d];
                at += scale * (begin[std::size_t(d)] + k * step[std::size_t(d)]);
                other += scale * (source[std::size_t(d)] + k * back[std::size_t(d)]);
                scale *= p.m.extent[d];
            }
            m.v[std::size_t(at)] = number ? 7 : q.m.v[std::size_t(other)];
        }
        const pm::any_tensor values =
            number ? pm::full(pm::dtype::i32, {}, 7, home_) : pm::slice_view(q.t, from);
        p.t = pm::slice_update(p.t, values, to);
        p.m = m;
    }

    /// Its two parts along an axis, the other way round: what an assignment to a part comes to.
    pair rejoined(const pair& p) {
        if (p.m.extent.rank() == 0) return p;
        const int axis = int(roll(p.m.extent.rank()));
        const std::int64_t n = p.m.extent[axis], cut = roll(n + 1);
        std::vector<pm::slice> low(std::size_t(axis) + 1), high(std::size_t(axis) + 1);
        low.back() = {0, cut, 1};
        high.back() = {cut, n, 1};
        const pm::any_tensor parts[] = {pm::slice_view(p.t, high), pm::slice_view(p.t, low)};
        return {pm::concat(parts, axis), picked(p.m, p.m.extent, [&](pm::index_list at) {
                    at[axis] = at[axis] < n - cut ? at[axis] + cut : at[axis] - (n - cut);
                    return at;
                })};
    }

    pm::context home_;
    std::mt19937_64 random_;
    std::vector<pair> have_;
};

void thousand_cases(const pm::context& home) {
    for (unsigned seed = 0; seed < unsigned(test::samples(1000)); ++seed) {
        player p(home, seed);
        for (int steps = 3 + int(seed % 10); steps > 0; --steps) p.step();
        CHECK_MESSAGE(p.wrong() == 0, "seed " << seed);
    }
}

}  // namespace

TEST_CASE("1000 random cases of aliasing on the host keep the meaning of values") {
    thousand_cases(pm::context(pm::host_only{}));
    thousand_cases(pm::context(pm::host_only{}, pm::fusion::none{}));
    thousand_cases(pm::context(pm::host_only{}, pm::eager{}));
}

TEST_CASE("1000 random cases of aliasing on the device keep the meaning of values") {
    const pm::context home, apart(pm::fusion::none{});
    if (home.device().type == pm::device_type::host)
        PUMICE_SKIP("vulkan-device", "the case is of a device");
    thousand_cases(home);
    thousand_cases(apart);
    std::printf("measured %d cases of aliasing on the device: %d kernels, %d of them compiled\n",
                test::samples(1000), int(home.stats().pipelines + apart.stats().pipelines),
                int(home.stats().slang_compiles + apart.stats().slang_compiles));
}

TEST_CASE("an op over its own operand gives what it gives into another tensor") {
    const pm::context home;
    std::vector<float> v(48);
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = float(i % 7) - float(i % 5);
    const std::int64_t swapped[] = {1, 0};
    const auto fresh = [&] {
        pm::any_tensor t =
            pm::from_bytes(pm::dtype::f32, {6, 8}, std::as_bytes(std::span(v)), home);
        return pm::apply<pm::op::add>(t, 0.0);  // on the device, and nobody else's
    };
    using act = pm::any_tensor (*)(const pm::any_tensor&);
    const act acts[] = {
        [](const pm::any_tensor& x) { return pm::apply<pm::op::add>(x, x); },
        [](const pm::any_tensor& x) { return pm::softmax(x, 1); },
        [](const pm::any_tensor& x) {
            const std::int64_t turned[] = {1, 0};
            return pm::matmul(x, pm::permute_dims(x, turned));
        },
        [](const pm::any_tensor& x) {
            const pm::any_tensor parts[] = {x, x};
            return pm::concat(parts, 0);
        },
        [](const pm::any_tensor& x) { return pm::apply<pm::op::multiply>(pm::flip(x), x); }};
    for (const act f : acts) {
        const pm::any_tensor kept = fresh(), result = f(kept);
        const std::vector<float> wanted = pm::to_vector<float>(result);
        CHECK(pm::to_vector<float>(kept) == v);  // the operand is what it was
        pm::any_tensor y = fresh();
        pm::eval(std::span<const pm::any_tensor>(&y, 1));
        const pm::any_tensor turned = pm::permute_dims(y, swapped);
        y = f(y);
        CHECK(pm::to_vector<float>(y) == wanted);
        CHECK(pm::to_vector<float>(pm::permute_dims(turned, swapped)) == v);
    }
}
