// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Random loops over integers, with branches and loops in them: by tensors, and in plain C++.
#pragma once

#include <pumice/exec/plan/plan.hpp>
#include <pumice/front.hpp>
#include <pumice/tensor/control.hpp>

#include <random>
#include <vector>

namespace test {

namespace pm = pumice;
using integers = std::vector<std::int32_t>;

class random_loop {
public:
    explicit random_loop(unsigned seed) : random_(seed) {
        length_ = below(6) == 0 ? 1 : 2 + below(40);
        for (integers* v : {&a_, &b_, &captured_})
            for (int i = 0; i < length_; ++i) v->push_back(below(2000) - 1000);
        for (auto* list : {&body_, &other_, &inner_})
            for (int i = 0, n = 1 + below(4); i < n; ++i)
                list->push_back({below(5), below(3 + i), below(3 + i)});
        limit_ = below(12);
        mask_ = 1 + below(7);
        kind_ = below(4);
        inner_steps_ = below(4);
    }

    /// a and b after the loop.
    std::vector<integers> plainly() const {
        integers a = a_, b = b_;
        for (int i = 0; goes_on(i, a); ++i) {
            const auto step = [&](const std::vector<line>& lines) {
                std::vector<integers> have{a, b, captured_};
                for (const line& l : lines) have.push_back(plain(l, have));
                b = have[have.size() - 2];
                a = have.back();
            };
            const bool branch = kind_ == 1 && (total(b) & 1) != 0;
            step(branch ? other_ : body_);
            for (int k = 0; kind_ == 2 && k < inner_steps_; ++k) step(inner_);
            for (int k = 0; kind_ == 3 && k < 5 && (total(b) & 3) != 0; ++k) step(inner_);
        }
        return {a, b};
    }
    std::vector<integers> by_tensors(const pm::context& home, bool recorded) const {
        const vec a = pm::adapt(a_, home), b = pm::adapt(b_, home);
        if (!recorded) {
            captured_tensor_ = pm::adapt(captured_, home);
            const auto [x, y] = run(home, a, b);
            pm::eval(x, y);
            return {x.to_vector(), y.to_vector()};
        }
        const pm::executable work = this->recorded(home);
        work.run({a, b});
        const std::vector<pm::any_tensor> made = work.run({a, b});
        return {pm::to_vector<std::int32_t>(made[0]), pm::to_vector<std::int32_t>(made[1])};
    }
    pm::executable recorded(const pm::context& home) const {
        captured_tensor_ = pm::adapt(captured_, home);
        const vec a = pm::adapt(a_, home), b = pm::adapt(b_, home);
        return pm::compile([&](const vec& x, const vec& y) { return run(home, x, y); }).get(a, b);
    }
    /// What the recorded function is given.
    const integers& given(pm::value_role role, std::size_t index) const {
        return role == pm::value_role::constant ? captured_ : index == 0 ? a_ : b_;
    }

private:
    using vec = pm::vector<std::int32_t>;
    using count = pm::tensor<std::int32_t, pm::dims<0>>;

    std::tuple<vec, vec> run(const pm::context& home, const vec& a, const vec& b) const {
        const auto [i, x, y] = pm::while_loop(
            [&](const count& n, const vec& v, const vec&) {
                return pm::logical_and(n < limit_, (pm::sum(v) & mask_) != 0);
            },
            [&](const count& n, const vec& v, const vec& w) {
                const auto [p, q] = body(v, w);
                return std::tuple(n + 1, p, q);
            },
            count(pm::full<std::int32_t>({}, 0, home)), a, b);
        return {x, y};
    }
    struct line {
        int op, x, y;
    };

    int below(int n) { return int(random_() % unsigned(n)); }

    static std::int32_t wrapped(std::uint32_t n) { return static_cast<std::int32_t>(n); }
    static std::int32_t total(const integers& v) {
        std::uint32_t n = 0;
        for (const std::int32_t i : v) n += static_cast<std::uint32_t>(i);
        return wrapped(n);
    }
    bool goes_on(int i, const integers& a) const { return i < limit_ && (total(a) & mask_) != 0; }

    static integers plain(const line& l, const std::vector<integers>& have) {
        const integers &x = have[std::size_t(l.x)], &y = have[std::size_t(l.y)];
        integers r(x.size());
        for (std::size_t i = 0; i < r.size(); ++i) {
            const auto p = static_cast<std::uint32_t>(x[i]), q = static_cast<std::uint32_t>(y[i]);
            switch (l.op) {
                case 0: r[i] = wrapped(p + q); break;
                case 1: r[i] = wrapped(p - q); break;
                case 2: r[i] = wrapped(p * q); break;
                case 3: r[i] = std::max(x[i], y[r.size() - 1 - i]); break;
                default: r[i] = x[i] ^ y[i];
            }
        }
        return r;
    }
    static vec made(const line& l, const std::vector<vec>& have) {
        const vec &x = have[std::size_t(l.x)], &y = have[std::size_t(l.y)];
        switch (l.op) {
            case 0: return x + y;
            case 1: return x - y;
            case 2: return x * y;
            case 3: return pm::maximum(x, pm::flip(y));
            default: return x ^ y;
        }
    }
    std::tuple<vec, vec> lines_of(const std::vector<line>& lines, const vec& a,
                                  const vec& b) const {
        std::vector<vec> have{a, b, captured_tensor_};
        for (const line& l : lines) have.push_back(made(l, have));
        return {have.back(), have[have.size() - 2]};
    }
    std::tuple<vec, vec> body(const vec& a, const vec& b) const {
        if (kind_ == 1)
            return pm::cond((pm::sum(b) & 1) != 0, [&] { return lines_of(other_, a, b); },
                            [&] { return lines_of(body_, a, b); });
        const auto [x, y] = lines_of(body_, a, b);
        if (kind_ == 2)
            return pm::fori_loop(
                0, inner_steps_,
                [&](const count&, const vec& v, const vec& w) { return lines_of(inner_, v, w); }, x,
                y);
        if (kind_ == 3) {
            const auto [k, v, w] =
                pm::while_loop([&](const count& n, const vec&,
                                   const vec&
                                       q) { return pm::logical_and(n < 5, (pm::sum(q) & 3) != 0); },
                               [&](const count& n, const vec& p, const vec& q) {
                                   const auto [r, s] = lines_of(inner_, p, q);
                                   return std::tuple(n + 1, r, s);
                               },
                               count(pm::full<std::int32_t>({}, 0, pm::context(x.get()->owner))), x,
                               y);
            return {vec(v), vec(w)};
        }
        return {x, y};
    }

    std::mt19937 random_;
    int length_ = 0, limit_ = 0, mask_ = 0, kind_ = 0, inner_steps_ = 0;
    integers a_, b_, captured_;
    std::vector<line> body_, other_, inner_;
    mutable vec captured_tensor_;
};

}  // namespace test
