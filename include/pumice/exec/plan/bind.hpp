// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A plan that was made elsewhere, ready to run in a context.
#pragma once

#include <pumice/exec/plan/verify.hpp>
#include <pumice/exec/vulkan/executable.hpp>
#include <pumice/tensor/compile.hpp>
#include <pumice/tensor/context.hpp>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

/// Bytes of a tensor that lies as the plan counts on, from where kernels count.
inline std::int64_t bytes_of_given(const plan_value& v) {
    return range_of({0, v.type, v.offset, v.layout}, v.extent, false).end;
}
/// The tensor's values as those bytes. Pre: it is realised.
inline array_list<std::byte> as_given(const plan_value& v, const node_ptr& n, engine& home) {
    const std::int64_t count = v.count();
    array_list<std::byte> dense(static_cast<std::size_t>(byte_end(v.type, count)));
    home.read(n, dense.data());
    if (v.offset == 0 && v.layout == row_major_strides(v.extent)) return dense;
    array_list<std::byte> memory(static_cast<std::size_t>(bytes_of_given(v)));
    index_list at = index_list::filled(v.extent.rank(), 0);
    for (std::int64_t i = 0; i < count; ++i) {
        std::int64_t place = v.offset;
        for (int d = 0; d < at.rank(); ++d) place += at[d] * v.layout[d];
        copy_element(v.type, dense.data(), i, memory.data(), place);
        for (int d = at.rank() - 1; d >= 0 && ++at[d] == v.extent[d]; --d) at[d] = 0;
    }
    return memory;
}
/// A tensor in memory that has those bytes.
inline node_ptr given_in(const plan_value& v, std::shared_ptr<storage> memory,
                         std::shared_ptr<engine> home) {
    node_ptr n = make_data(v.type, v.extent, std::move(memory), std::move(home));
    n->lay_out(v.layout);
    n->offset = v.offset;
    return n;
}
/// The elements that those bytes are.
inline shape elements_given(const plan_value& v) {
    return {bytes_of_given(v) * 8 / info(v.type).bits};
}

/// The tensor's values with the layout and the beginning that the plan counts on: itself, or a
/// copy.
inline node_ptr laid_out_as(const plan_value& v, const any_tensor& t, engine& home) {
    const node_ptr n = t.get();
    home.eval(span(&n, 1));
    if (n->layout() == v.layout && offset_from_base(*n) == v.offset) return n;
    const node_ptr whole = home.create(v.type, elements_given(v), as_given(v, n, home).data());
    return given_in(v, whole->data, whole->owner);
}

}  // namespace detail

/// What `compile` makes of a function, of a plan: `executable::planned` gave it, here or in another
/// process. `constants` are its constants, in order. Throws errc::invalid_argument for a plan that
/// breaks the rules of plans or is no compiled function's, and for other constants than it names;
/// errc::unsupported where the context's engine has no plans.
inline executable bind(const context& home, plan p, span<const any_tensor> constants = {}) {
    const auto refuse = [](std::initializer_list<piece> why) {
        fail(errc::invalid_argument, "bind", why);
    };
    auto* const maker = dynamic_cast<graph_engine*>(home.get().get());
    if (!maker) fail(errc::unsupported, "bind", {"the engine of this context has no plans"});
    verify(p);
    maker->must_have_places(p);
    if (!p.states.empty()) fail(errc::unsupported, "bind", {"the plan has state of its own"});
    std::vector<executable::value> inputs, outputs;
    for (const int i : p.inputs) {
        const plan_value& v = p.at(i);
        if (v.offset != 0 || v.layout != row_major_strides(v.extent))
            refuse({"input ", v.index, " is not dense, in row-major order; the plan of one ",
                    "evaluation runs where it was made, that of a compiled function anywhere"});
        inputs.push_back({v.type, v.extent});
    }
    for (const int i : p.outputs) {
        if (p.at(i).alias >= 0) refuse({"output ", p.at(i).index, " lies within another value"});
        outputs.push_back({p.at(i).type, p.at(i).extent});
    }
    for (const int i : p.parameters)
        if (p.at(i).type != dtype::u32 || p.at(i).extent.rank() != 0)
            refuse({"parameter ", p.at(i).index, " is no random key, a u32"});
    if (constants.size() != p.constants.size())
        refuse({"the plan has ", p.constants.size(), " constants, ", constants.size(),
                " are given"});
    evaluation e = evaluation_of(p);
    plan_run& run = e.run;
    for (std::size_t i = 0; i < constants.size(); ++i) {
        const plan_value& v = p.at(p.constants[i]);
        const any_tensor& t = constants[i];
        if (!t.has_value()) refuse({"constant ", i, " is empty"});
        if (t.get()->owner != home.get())
            fail(errc::context_mismatch, "bind", {"constant ", i, " belongs to another context"});
        if (t.dtype() != v.type || t.shape() != v.extent)
            refuse({"constant ", i, " is ", to_string(t.dtype()), " ", to_string(t.shape()),
                    ", the plan has ", to_string(v.type), " ", to_string(v.extent)});
        e.keep.push_back(detail::laid_out_as(v, t, *maker));
        run.given[static_cast<std::size_t>(p.constants[i])] = e.keep.back().get();
    }
    const std::size_t keys = p.parameters.size();
    return executable(home, std::move(inputs), std::move(outputs), keys,
                      prepare_plan(*maker, std::move(e)));
}

}}  // namespace pumice::PUMICE_ABI
