// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What the policy check_finite does: names the first op whose result holds NaN or infinity.
#pragma once

#include <pumice/graph/print.hpp>
#include <pumice/policy/each_op.hpp>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

/// What of some values is not finite.
struct not_finite {
    std::int64_t nans = 0, infinities = 0, first = -1;  // the index of the first

    bool any() const noexcept { return first >= 0; }
    std::string text() const {
        std::string said = nans > 0 ? cat({nans, " NaN"}) : "";
        if (infinities > 0)
            append_text(said, {nans > 0 ? " and " : "", infinities,
                               infinities == 1 ? " infinity" : " infinities"});
        return said;
    }
};

/// By their bits: an exponent of ones alone, and a fraction of 0 for infinities. f8_e4m3 has none,
/// and NaN is all ones.
template <class Bits>
not_finite find_not_finite(const std::byte* values, std::int64_t count, Bits exponent, Bits all,
                           bool infinities) {
    not_finite found;
    for (std::int64_t i = 0; i < count; ++i) {
        Bits bits = 0;
        std::memcpy(&bits, values + i * static_cast<std::int64_t>(sizeof(Bits)), sizeof(Bits));
        bits = static_cast<Bits>(bits & all);
        if ((bits & exponent) != exponent) continue;
        const bool infinite = bits == exponent && exponent != all;
        if (infinite && !infinities) continue;
        ++(infinite ? found.infinities : found.nans);
        if (found.first < 0) found.first = i;
    }
    return found;
}
inline not_finite find_not_finite(dtype type, const std::byte* values, std::int64_t count,
                                  bool infinities) {
    const auto among = [&]<class Bits>(Bits exponent, Bits all) {
        return find_not_finite<Bits>(values, count, exponent, all, infinities);
    };
    switch (type) {
        case dtype::f64: return among(std::uint64_t{0x7ff} << 52, ~std::uint64_t{0} >> 1);
        case dtype::f32: return among(std::uint32_t{0x7f800000}, std::uint32_t{0x7fffffff});
        case dtype::f16: return among(std::uint16_t{0x7c00}, std::uint16_t{0x7fff});
        case dtype::bf16: return among(std::uint16_t{0x7f80}, std::uint16_t{0x7fff});
        case dtype::f8_e4m3: return among(std::uint8_t{0x7f}, std::uint8_t{0x7f});
        case dtype::f8_e5m2: return among(std::uint8_t{0x7c}, std::uint8_t{0x7f});
        default: return {};
    }
}
inline not_finite find_not_finite(const computed_op& op, const node_ptr& n, bool infinities) {
    if (!is_floating(n->type) || n->count() == 0) return {};
    array_list<std::byte> values(static_cast<std::size_t>(byte_count(n->type, n->count())));
    op.read(n, values.data());
    return find_not_finite(n->type, values.data(), n->count(), infinities);
}

/// What of an op's result is not finite, and of which op: of an elementwise one that joins several
/// the first whose values are not.
struct fault_of_op {
    std::string op;
    not_finite what;
};
inline fault_of_op first_not_finite(const computed_op& op, const not_finite& found,
                                    bool infinities) {
    const auto* const joined = op.what.op.get_if<elementwise_op>();
    const std::size_t count = joined ? joined->body->code.size() : 0;
    for (std::size_t k = 0; k < count; ++k) {
        const instruction& i = joined->body->code[k];
        if (i.arity() == 0 || joined->body->outputs[0] == k) continue;
        elementwise_op part = *joined;
        const auto body = std::make_shared<program>(*joined->body);
        body->outputs.clear();
        body->outputs.push_back(static_cast<std::uint16_t>(k));
        part.body = body;
        part.native = nullptr;
        const node_ptr n = link_node(i.type, op.what.extent, std::move(part), op.inputs);
        n->owner = op.what.owner;
        if (const not_finite first = find_not_finite(op, n, infinities); first.any())
            return {i.op ? std::string(i.op->name) : cat({"astype to ", to_string(i.type)}), first};
    }
    if (!joined) return {describe(op.what), found};
    const instruction& last = joined->body->code[joined->body->outputs[0]];
    return {last.op ? std::string(last.op->name) : describe(op.what), found};
}

}  // namespace detail

template <int>
void require_finite(const computed_op& op, bool infinities) {
    const detail::not_finite found = detail::find_not_finite(op, op.result, infinities);
    if (!found.any()) return;
    std::vector<std::string> reasons;
    const std::string made(op.what.label.get().maker());
    if (!made.empty()) reasons.push_back(cat({"in the step that computes ", made}));
    bool given = false;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
        const detail::not_finite before = detail::find_not_finite(op, op.inputs[i], infinities);
        if (!before.any()) continue;
        given = true;
        const std::string name = name_of(*op.inputs[i]);
        reasons.push_back(cat({"operand ", i, name.empty() ? "" : " (" + name + ")", ", of shape ",
                               to_string(op.inputs[i]->extent), ", was given with ",
                               before.text()}));
    }
    if (!given) reasons.push_back("all of its operands are finite");
    const detail::fault_of_op first = detail::first_not_finite(op, found, infinities);
    throw error(errc::not_finite, "check_finite",
                cat({first.op, " gives ", first.what.text(), " in a result of shape ",
                     to_string(op.what.extent), " of ", to_string(op.what.type), ", the first at ",
                     to_string(detail::index_of(first.what.first, op.what.extent))}),
                std::move(reasons));
}

}}  // namespace pumice::PUMICE_ABI
