// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Einstein summation: subscripts parsed at run time, then views, sums, products and matrix
// products.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/expr/ops.hpp>
#include <pumice/graph/build.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// NumPy's einsum, "ij,jk->ik": a letter names an axis, "..." the axes that broadcast. Without "->"
/// the result has the letters that occur once, sorted. Operands are multiplied from left to right;
/// a sum over two is a matrix product where that pays. Throws errc::invalid_argument,
/// errc::shape_mismatch and errc::rank_mismatch, naming subscripts, operand and letter.
PUMICE_FUNCTION any_tensor einsum(std::string_view subscripts, span<const any_tensor> operands);

#ifndef PUMICE_COMPILED

namespace detail {

/// An operand and a label for each axis: a letter, or for an axis of the ellipsis its number from
/// the last one on, from 1.
template <int = 0>
struct labelled {
    any_tensor x;
    std::string labels;

    bool has(char label) const { return labels.find(label) != std::string::npos; }
    std::int64_t extent(char label) const {
        return x.shape()[static_cast<int>(labels.find(label))];
    }
    /// Axes in the order of `wanted`; a label that is missing gives an axis of length 1.
    any_tensor in_order(const std::string& wanted) const {
        if (wanted == labels) return x;
        view_op v{index_list::filled(x.rank(), 0), {}, {}};
        shape extent_of;
        for (char label : wanted) {
            v.source.push_back(has(label) ? static_cast<int>(labels.find(label)) : -1);
            v.step.push_back(1);
            extent_of.push_back(has(label) ? extent(label) : 1);
        }
        return make_view(x, extent_of, v);
    }
    /// Sums over the labels that are not in `kept`.
    void sum_but(const std::string& kept) {
        array_list<std::int64_t> axes;
        std::string left;
        for (std::size_t i = 0; i < labels.size(); ++i) {
            if (kept.find(labels[i]) != std::string::npos) left += labels[i];
            else axes.push_back(static_cast<std::int64_t>(i));
        }
        if (!axes.empty()) x = reduce(reduction::sum, x, axes);
        labels = left;
    }
};

template <int = 0>
class einsum_text {
public:
    einsum_text(std::string_view text, span<const any_tensor> operands) : text_(text) {
        for (std::int64_t& n : size_) n = -1;
        if (text.size() > 512) wrong({"the subscripts are longer than 512 characters"});
        std::string plain;
        for (char c : text)
            if (c != ' ') plain += c;
        const std::size_t arrow = plain.find("->");
        const std::string inputs = plain.substr(0, arrow);
        std::size_t begin = 0, count = 1;
        for (char c : inputs) count += c == ',';
        if (count != operands.size())
            wrong({"subscripts of ", count, " operands, got ", operands.size()});
        for (std::size_t k = 0; k < operands.size(); ++k) {
            const std::size_t end = std::min(inputs.find(',', begin), inputs.size());
            add(inputs.substr(begin, end - begin), operands[k], k);
            begin = end + 1;
        }
        if (arrow == std::string::npos) infer();
        else state(plain.substr(arrow + 2));
        for (labelled<>& t : terms) shorten(t);
    }

    array_list<labelled<>> terms;
    std::string result;

    [[noreturn]] void wrong(std::initializer_list<piece> why,
                            errc code = errc::invalid_argument) const {
        fail(code, "einsum", {"\"", text_.substr(0, 512), "\": ", cat(why)});
    }

private:
    static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

    /// Letters and at most one "...", which stands for `dots` axes.
    std::string read(const std::string& from, int dots, std::string_view where) const {
        std::string labels;
        bool seen = false;
        for (std::size_t i = 0; i < from.size(); ++i) {
            if (is_letter(from[i])) {
                labels += from[i];
                continue;
            }
            if (seen || from.compare(i, 3, "...") != 0)
                wrong({where, " has '", from.substr(i, 1), "', which is no letter",
                       seen ? " (an ellipsis stands once)" : ""});
            for (int k = dots; k > 0; --k) labels += static_cast<char>(k);
            seen = true;
            i += 2;
        }
        return labels;
    }

    void add(const std::string& from, const any_tensor& x, std::size_t number) {
        const std::string where = cat({"operand ", number});
        const bool open = from.find('.') != std::string::npos;
        const int letters = static_cast<int>(read(from, 0, where).size());
        if (open ? letters > x.rank() : letters != x.rank())
            wrong({where, " of shape ", to_string(x.shape()), " has ", letters, " subscripts"},
                  errc::rank_mismatch);
        dots_ = std::max(dots_, x.rank() - letters);
        terms.push_back({x, read(from, x.rank() - letters, where)});
        const std::string& labels = terms.back().labels;
        for (int d = 0; d < x.rank(); ++d) {
            const char label = labels[static_cast<std::size_t>(d)];
            std::int64_t& size = size_[static_cast<std::size_t>(label)];
            const std::int64_t n = x.shape()[d], own = terms.back().extent(label);
            if ((size >= 0 && size != 1 && n != 1 && n != size) || own != n)
                wrong({where, " of shape ", to_string(x.shape()), " has the extent ", n,
                       is_letter(label) ? cat({" for '", std::string_view(&label, 1), "'"})
                                        : std::string(" in its ellipsis"),
                       ", not ", own != n ? own : size},
                      errc::shape_mismatch);
            if (size < 0 || size == 1) size = n;
            ++uses_[static_cast<std::size_t>(label)];
        }
    }
    void infer() {
        for (int k = dots_; k > 0; --k) result += static_cast<char>(k);
        for (int c = 'A'; c <= 'z'; ++c)
            if (uses_[c] == 1) result += static_cast<char>(c);
    }
    void state(const std::string& from) {
        result = read(from, dots_, "the result");
        if (dots_ > 0 && from.find('.') == std::string::npos)
            wrong({"the result lacks the ellipsis"});
        for (std::size_t i = 0; i < result.size(); ++i) {
            const std::string_view label(&result[i], 1);
            if (result.find(result[i]) != i)
                wrong({"the result has the letter '", label, "' twice"});
            if (is_letter(result[i]) && uses_[static_cast<std::size_t>(result[i])] == 0)
                wrong({"the letter '", label, "' of the result is in no operand"});
        }
    }

    /// Takes away the axes of length 1 that broadcast, and makes one of axes with one label: the
    /// diagonal, every (n + 1)-th element of n x n.
    void shorten(labelled<>& t) const {
        for (std::size_t i = t.labels.size(); i-- > 0;) {
            if (t.extent(t.labels[i]) == size_[static_cast<std::size_t>(t.labels[i])]) continue;
            t.x = squeeze(t.x, static_cast<std::int64_t>(i));
            t.labels.erase(i, 1);
        }
        for (std::size_t i = 0; i < t.labels.size();) {
            const std::size_t again = t.labels.find(t.labels[i], i + 1);
            if (again == std::string::npos) {
                ++i;
                continue;
            }
            array_list<std::int64_t> order;
            std::string left;
            shape to;
            for (std::size_t k = 0; k < t.labels.size(); ++k) {
                if (k == i || k == again) continue;
                order.push_back(static_cast<std::int64_t>(k));
                left += t.labels[k];
                to.push_back(t.x.shape()[static_cast<int>(k)]);
            }
            const std::int64_t n = t.extent(t.labels[i]);
            order.push_back(static_cast<std::int64_t>(i));
            order.push_back(static_cast<std::int64_t>(again));
            to.push_back(checked_multiply(n, n, "einsum"));
            array_list<slice> slices(to.size());
            slices.back().step = n + 1;
            t.x = slice_view(reshape(permute_dims(t.x, order), to), slices);
            t.labels = left + t.labels[i];
            i = 0;
        }
    }

    std::string_view text_;
    int dots_ = 0;
    std::int64_t size_[128];
    int uses_[128] = {};
};

/// The product of two operands, summed over the labels that are not in `kept`.
PUMICE_FUNCTION labelled<> contract(labelled<> a, labelled<> b, const std::string& kept,
                                    const einsum_text<>& text) {
    a.sum_but(kept + b.labels);
    b.sum_but(kept + a.labels);
    std::string batch, inner, left, right;
    for (char c : a.labels)
        (!b.has(c) ? left : kept.find(c) != std::string::npos ? batch : inner) += c;
    for (char c : b.labels)
        if (!a.has(c)) right += c;
    const std::string outer = batch + left + right;
    // A product of a row and a column alone is better summed as it is made, and so is one of narrow
    // integers, which a matrix product would widen, by a vector.
    const dtype type = a.x.dtype();
    const bool narrow = !is_floating(type) && info(type).bits < 32;
    const bool product = !inner.empty() && type != dtype::boolean &&
                         (narrow ? !left.empty() && !right.empty() : !(left + right).empty());
    const std::size_t together = outer.size() + (product ? 0 : inner.size());
    if (together > max_rank)
        text.wrong({"a product of two operands has ", together, " axes, more than 8"},
                   errc::rank_mismatch);
    if (!product) {
        labelled<> r{apply<op::multiply>(a.in_order(outer + inner), b.in_order(outer + inner)),
                     outer + inner};
        r.sum_but(outer);
        return r;
    }
    const auto count = [](const labelled<>& t, const std::string& list) {
        std::int64_t n = 1;
        for (char c : list) n = checked_multiply(n, t.extent(c), "einsum");
        return n;
    };
    const std::int64_t m = count(a, left), n = count(b, right), k = count(a, inner);
    shape rows, to;
    for (char c : batch) to.push_back(a.extent(c));
    if (batch.size() + 2 > max_rank) rows = {count(a, batch)};
    else rows = to;
    shape columns = rows;
    rows.push_back(m), rows.push_back(k), columns.push_back(k), columns.push_back(n);
    for (char c : left) to.push_back(a.extent(c));
    for (char c : right) to.push_back(b.extent(c));
    return {reshape(matmul(reshape(a.in_order(batch + left + inner), rows),
                           reshape(b.in_order(batch + inner + right), columns)),
                    to),
            outer};
}

}  // namespace detail

PUMICE_BODY any_tensor einsum(std::string_view subscripts, span<const any_tensor> operands) {
    detail::require(!operands.empty(), "einsum", "needs at least one tensor");
    array_list<dtype> types;
    std::optional<dtype> common = operands[0].dtype();
    for (const any_tensor& x : operands) {
        types.push_back(x.dtype());
        if (common) common = promote(*common, x.dtype());
    }
    if (!common)
        detail::throw_types("einsum", types,
                            "the array API does not mix these kinds; convert one with astype");
    detail::einsum_text<> text(subscripts, operands);
    for (detail::labelled<>& t : text.terms) t.x = astype(t.x, *common);
    detail::labelled<> r = text.terms[0];
    for (std::size_t k = 1; k < text.terms.size(); ++k) {
        std::string kept = text.result;
        for (std::size_t later = k + 1; later < text.terms.size(); ++later)
            kept += text.terms[later].labels;
        r = detail::contract(std::move(r), text.terms[k], kept, text);
    }
    r.sum_but(text.result);
    return r.in_order(text.result);
}

#endif

}}  // namespace pumice::PUMICE_ABI
