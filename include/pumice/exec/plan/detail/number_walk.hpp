// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The whole numbers within the parts of a plan, in one order: to read them, and to write others.
#pragma once

// First: a compiler keeps its first answer to has_fields of a plan's parts.
#include <pumice/exec/plan/detail/plan_fields.hpp>
#include <pumice/exec/plan/plan.hpp>
#include <pumice/exec/select.hpp>
#include <pumice/kernels/fields.hpp>

#include <bit>
#include <string_view>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

/// Gives each whole number within a part of a plan to `Visitor::number`, and words for all else to
/// `Visitor::fixed`, in one order. What buffers are called, a part's name and what may be given are
/// not looked at.
template <class Visitor>
class number_walk {
public:
    explicit number_walk(Visitor& v) : to_(v) {}

    void operator()(std::int64_t& n) { to_.number(n); }
    void operator()(index_list& list) {
        to_.fixed(list.size());
        for (std::int64_t& n : list) to_.number(n);
    }
    template <class T, std::size_t N>
    void operator()(T (&array)[N]) {
        for (T& each : array) (*this)(each);
    }
    template <class T>
    void operator()(array_list<T>& list) {
        to_.fixed(list.size());
        for (T& each : list) (*this)(each);
    }
    void operator()(scalar_operand& s) {
        to_.fixed(static_cast<std::uint64_t>(s.number));
        (*this)(s.value);
    }
    /// A whole one is a number, of whatever type.
    void operator()(scalar& s) {
        to_.fixed(static_cast<std::uint64_t>(s.type));
        const bool counts = is_whole(s);
        to_.fixed(counts);
        if (!counts) return to_.bits(s.bits);
        auto n = s.as<std::int64_t>();
        const std::int64_t before = n;
        to_.number(n);
        if (n != before) s = is_floating(s.type) ? scalar(s.type, double(n)) : scalar(s.type, n);
    }
    void operator()(std::shared_ptr<const program>& p) {
        to_.fixed(p ? p->code.size() : 0);
        if (!p) return;
        for (const instruction& i : p->code) {
            to_.fixed(static_cast<std::uint64_t>(i.what) << 48 |
                      static_cast<std::uint64_t>(i.type) << 32 | i.index);
            for (int k = 0; k < i.arity(); ++k) to_.fixed(i.args[k]);
            if (i.what == instruction::code::apply) (*this)(i.op);
            if (i.what == instruction::code::coded) (*this)(i.format);
            if (i.what == instruction::code::mapped) (*this)(i.map);
        }
        for (const std::uint16_t o : p->outputs) to_.fixed(o);
    }
    template <class T>
        requires(std::is_integral_v<T> || std::is_enum_v<T>)
    void operator()(const T& v) {
        to_.fixed(static_cast<std::uint64_t>(v));
    }
    void operator()(const double& v) { to_.fixed(std::bit_cast<std::uint64_t>(v)); }
    template <class T>
    void operator()(T* const& v) {
        to_.fixed(reinterpret_cast<std::uintptr_t>(v));
    }
    template <has_fields T>
    void operator()(T& v) {
        each_field(v, [&](const char*, auto& member) { (*this)(member); });
    }
    void operator()(plan_value& v) {
        to_.fixed(static_cast<std::uint64_t>(v.role) << 32 | static_cast<std::uint64_t>(v.type));
        to_.fixed(v.index);
        to_.fixed(static_cast<std::uint64_t>(v.alias));
        to_.fixed(static_cast<std::uint64_t>(v.place));
        (*this)(v.extent);
        (*this)(v.layout);
        to_.number(v.offset);
    }
    /// The problem becomes a copy, in which the numbers may change.
    void operator()(problem& p) {
        if (!of_library(p, problems()))
            fail(errc::unsupported, "varying",
                 {"the extents of `", family_of(p), "` are fixed where it is planned"});
    }
    void operator()(plan_step& s) {
        to_.fixed(static_cast<std::uint64_t>(s.place));
        (*this)(s.buffers);
        (*this)(s.outputs);
        (*this)(s.what);
    }

private:
    template <class... P>
    bool of_library(problem& p, type_list<P...>) {
        return (one<P>(p) || ...);
    }
    template <class P>
    bool one(problem& p) {
        if constexpr (std::is_same_v<P, custom_kernel_problem>) return false;
        else {
            const P* const held = p.get_if<P>();
            if (!held) return false;
            const auto copy = std::make_shared<P>(*held);
            to_.fixed(std::hash<std::string_view>()(P::name));
            (*this)(*copy);
            p = problem(copy);
            return true;
        }
    }
    Visitor& to_;
};

struct number_reader {
    array_list<std::uint64_t> words = {};
    array_list<std::int64_t> numbers = {};
    void number(std::int64_t n) { numbers.push_back(n); }
    void fixed(std::uint64_t w) { words.push_back(w); }
    void bits(std::uint64_t b) { words.push_back(b); }
};
struct number_writer {
    const std::int64_t* next;
    void number(std::int64_t& n) { n = *next++; }
    void fixed(std::uint64_t) {}
    void bits(std::uint64_t) {}
};

}}}  // namespace pumice::PUMICE_ABI::detail
