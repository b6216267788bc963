// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Printing like NumPy: nested brackets, long axes shortened. Printing evaluates.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/tensor/tensor.hpp>

#include <cstdio>
#include <ostream>

namespace pumice { inline namespace PUMICE_ABI {

/// The values as NumPy prints them; evaluates.
PUMICE_FUNCTION std::string to_string(const any_tensor& t);

PUMICE_FUNCTION std::ostream& operator<<(std::ostream& out, const any_tensor& t);
template <class Tree, class E>
std::ostream& operator<<(std::ostream& out, const expression<Tree, E>& x) {
    return out << any_tensor(x);
}

/// An element type by its name: f32.
template <std::same_as<dtype> Type>
std::ostream& operator<<(std::ostream& out, Type type) {
    return out << to_string(type);
}

/// A shape, or other indices, as NumPy prints it.
template <std::same_as<index_list> List>
std::ostream& operator<<(std::ostream& out, const List& list) {
    return out << to_string(list);
}

#ifndef PUMICE_COMPILED

namespace detail {

template <int = 0>
class printer {
public:
    explicit printer(const any_tensor& t)
        : type_(t.dtype()), extent_(t.shape()), data_(static_cast<std::size_t>(t.size_bytes())),
          shorten_(t.size() > 1000) {
        read(t, data_);
    }

    std::string run() {
        if (data_.empty()) return "[]";  // whatever its axes, as NumPy has it
        measure(0, 0);
        std::string text;
        write(text, 0, 0);
        return text;
    }

private:
    static constexpr std::int64_t edge = 3;

    static std::string text_of(const scalar& s) {
        if (s.type == dtype::boolean) return s.as<bool>() ? "True" : "False";
        if (info(s.type).kind == kind::signed_integer) return std::to_string(s.as<std::int64_t>());
        if (info(s.type).kind == kind::unsigned_integer)
            return std::to_string(s.as<std::uint64_t>());
        const double v = s.as<double>();
        if (v != v) return "nan";
        std::string text = detail::text_of(v, s.type == dtype::f64 ? 8 : 6);
        if (text.find_first_of(".en") == std::string::npos) text += '.';
        return text;
    }

    std::string cell(std::int64_t i) const {
        return visit(type_,
                     [&]<class T>(T) { return text_of(scalar(load_element<T>(data_.data(), i))); });
    }
    bool skipped(int axis, std::int64_t i) const {
        return shorten_ && extent_[axis] > 2 * edge && i >= edge && i < extent_[axis] - edge;
    }

    void measure(int axis, std::int64_t at) {
        if (axis == extent_.rank()) {
            width_ = std::max(width_, cell(at).size());
            return;
        }
        for (std::int64_t i = 0; i < extent_[axis]; ++i)
            if (!skipped(axis, i)) measure(axis + 1, at * extent_[axis] + i);
    }
    void write(std::string& text, int axis, std::int64_t at) const {
        if (axis == extent_.rank()) {
            const std::string c = cell(at);
            text += std::string(width_ - c.size(), ' ') + c;
            return;
        }
        text += '[';
        bool gap = false;
        for (std::int64_t i = 0; i < extent_[axis]; ++i) {
            if (skipped(axis, i)) {
                if (!gap) separate(text, axis), text += "...";
                gap = true;
                continue;
            }
            if (i > 0) separate(text, axis);
            write(text, axis + 1, at * extent_[axis] + i);
        }
        text += ']';
    }
    void separate(std::string& text, int axis) const {
        if (axis + 1 == extent_.rank()) text += ' ';
        else
            text += std::string(static_cast<std::size_t>(extent_.rank() - axis - 1), '\n') +
                    std::string(static_cast<std::size_t>(axis + 1), ' ');
    }

    dtype type_;
    shape extent_;
    array_list<std::byte> data_;
    bool shorten_;
    std::size_t width_ = 0;
};

}  // namespace detail

PUMICE_BODY std::string to_string(const any_tensor& t) { return detail::printer<>(t).run(); }

PUMICE_BODY std::ostream& operator<<(std::ostream& out, const any_tensor& t) {
    return out << to_string(t);
}

#endif

}}  // namespace pumice::PUMICE_ABI
