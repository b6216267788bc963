// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// How a file becomes a plan: names to slots, nodes in order, operators found, constants folded.
#pragma once

#include <pumice/base/log.hpp>
#include <pumice/model/onnx_ops.hpp>

#include <algorithm>
#include <functional>
#include <queue>
#include <set>
#include <unordered_map>

namespace pumice::inline PUMICE_ABI {
namespace onnx {

/// A checked model, immutable. Slots number its values.
struct plan {
    model file;
    model_limits limits;
    std::vector<step> steps;  // in an order in which inputs come first; only what outputs need
    std::vector<std::string_view> names;  // of slots
    std::vector<any_tensor> constants;    // by slot; empty where the value is computed in a run
    std::vector<std::uint8_t> permanent;  // by slot: constants of the model
    std::vector<int> inputs, outputs;     // slots, in the order of the graph
    std::vector<value_info> input_info;   // of the graph's inputs that are no initializers
    std::size_t folded = 0;               // nodes that became constants

    plan() = default;
    plan(plan&&) = default;  // steps point into the file's nodes, which do not move
    plan& operator=(plan&&) = default;
};

/// Newest operator set that the builders were written against; later ones are tried, with a warning.
inline constexpr std::int64_t newest_opset = 28;

namespace detail {

/// The outputs of a step whose inputs are all constants, as constants; empty where one cannot be folded.
inline std::vector<any_tensor> fold_outputs(const step& s, std::span<const any_tensor> slots,
                                            const plan& p) {
    std::vector<any_tensor> results =
        node_builder(s, slots, p.permanent, nullptr, {}, p.limits).run();
    for (any_tensor& r : results) {
        if (!r.has_value()) continue;
        const auto value = fold(r, p.limits.folded_elements);
        if (!value) return {};
        r = *value;
    }
    return results;
}

inline bool all_known(const step& s, std::span<const any_tensor> slots) {
    return std::all_of(s.inputs.begin(), s.inputs.end(), [&](int i) {
        return i < 0 || constant_of(slots[static_cast<std::size_t>(i)]);
    });
}

/// Runs f; what a graph op throws gets the node's name.
template <class F>
auto with_place(const plan& p, const step& s, F&& f) {
    try {
        return f();
    } catch (const needs_value& e) {
        throw needs_value(e.code(), "onnx", p.file.from.name + ": " + e.message());
    } catch (const error& e) {
        const std::string place =
            e.where() == "onnx" ? "" : describe(*s.from, s.number) + ": [" + e.where() + "] ";
        throw error(e.code(), "onnx", p.file.from.name + ": " + place + e.message(), e.reasons());
    }
}

class planner {
public:
    planner(model m, const model_limits& limits, const op_set& extra) : extra_(extra) {
        p_.file = std::move(m);
        p_.limits = limits;
    }

    plan run() {
        header();
        names();
        auto all = steps();
        for (step& s : all) resolve(s, p_.file, extra_);
        p_.constants.resize(p_.names.size());
        p_.permanent.resize(p_.names.size());
        tensors();
        order(std::move(all));
        return std::move(p_);
    }

private:
    [[noreturn]] void refuse(const std::string& why, errc code = errc::bad_file) const {
        throw error(code, "onnx", p_.file.from.name + ": " + why);
    }
    static std::string quote(std::string_view name) {
        return "\"" + std::string(name.substr(0, 128)) + "\"";
    }

    void header() {
        const model& m = p_.file;
        if (m.ir_version < 1) refuse("has no IR version: it is no ONNX model, or it was cut off");
        if (m.version_of("") > newest_opset)
            write_log(severity::warning, m.from.name + ": operator set " +
                                             std::to_string(m.version_of("")) + " is newer than " +
                                             std::to_string(newest_opset) +
                                             ", the newest that this Pumice was written against");
        if (m.sparse_initializers > 0)
            refuse("has sparse initializers; make them dense", errc::unsupported);
        if (m.outputs.empty()) refuse("has no output");
    }

    int define(std::string_view name, const char* what) {
        if (name.empty()) refuse(std::string("has ") + what + " without a name");
        const auto [at, fresh] = slots_.emplace(name, static_cast<int>(p_.names.size()));
        if (!fresh) refuse("defines " + quote(name) + " twice");
        p_.names.push_back(name);
        return at->second;
    }

    void names() {
        for (const tensor& t : p_.file.initializers) define(t.name, "an initializer");
        const auto initializers = p_.names.size();
        for (const value_info& v : p_.file.inputs) {
            const auto found = slots_.find(v.name);
            if (found != slots_.end() && static_cast<std::size_t>(found->second) < initializers)
                continue;  // its default value
            if (!v.is_tensor)
                refuse("the input " + quote(v.name) + " is no tensor", errc::unsupported);
            if (!to_dtype(v.elem_type))
                refuse("the input " + quote(v.name) + " holds " +
                           std::string(name_of_type(v.elem_type)) +
                           ", which Pumice has no element type for",
                       errc::unsupported);
            if (v.dims.size() > max_rank)
                refuse("the input " + quote(v.name) + " has more than 8 axes");
            p_.inputs.push_back(define(v.name, "an input"));
            p_.input_info.push_back(v);
        }
    }

    int slot_of(std::string_view name, const std::string& who) const {
        const auto found = slots_.find(name);
        if (found == slots_.end()) refuse(who + " reads " + quote(name) + ", which nothing gives");
        return found->second;
    }

    std::vector<step> steps() {
        std::vector<step> all;
        for (const node& n : p_.file.nodes) {
            step s;
            s.from = &n;
            s.number = static_cast<int>(all.size());
            if (n.op_type.empty()) refuse(describe(n, s.number) + " has no operator");
            if (n.attributes.size() > 64)
                refuse(describe(n, s.number) + " has more than 64 attributes");
            for (std::size_t i = 0; i < n.attributes.size(); ++i)
                for (std::size_t k = 0; k < i; ++k)
                    if (n.attributes[i].name == n.attributes[k].name)
                        refuse(describe(n, s.number) +
                               " has an attribute twice: " + quote(n.attributes[i].name));
            s.opset = p_.file.version_of(n.domain);
            if (s.opset < 1 && p_.file.ir_version < 3) s.opset = 1;
            if (s.opset < 1)
                refuse(describe(n, s.number) +
                       " is of a domain that the model does not import: " + quote(n.domain));
            for (std::string_view name : n.outputs)
                s.outputs.push_back(name.empty() ? -1 : define(name, "a value"));
            all.push_back(std::move(s));
        }
        for (step& s : all)
            for (std::string_view name : s.from->inputs)
                s.inputs.push_back(name.empty() ? -1 : slot_of(name, describe(*s.from, s.number)));
        for (const value_info& v : p_.file.outputs)
            p_.outputs.push_back(slot_of(v.name, "the graph's output"));
        return all;
    }

    void tensors() {
        tensor_decoder decode(p_.file.from, p_.limits);
        for (std::size_t i = 0; i < p_.file.initializers.size(); ++i) {
            p_.constants[i] = decode(p_.file.initializers[i]);
            p_.permanent[i] = 1;
        }
        decode_ = std::make_unique<tensor_decoder>(decode);
    }

    /// Kahn's algorithm, first come first, so that a sorted file keeps its order. ONNX asks for sorted
    /// nodes, but not all writers obey.
    void order(std::vector<step> all) {
        std::vector<int> giver(p_.names.size(), -1), waits(all.size(), 0);
        std::vector<std::vector<int>> readers(all.size());
        for (const step& s : all)
            for (int o : s.outputs)
                if (o >= 0) giver[static_cast<std::size_t>(o)] = s.number;
        const auto giver_of = [&](int slot) {
            return slot < 0 ? -1 : giver[static_cast<std::size_t>(slot)];
        };
        for (const step& s : all)
            for (int i : s.inputs)
                if (const int g = giver_of(i); g >= 0) {
                    readers[static_cast<std::size_t>(g)].push_back(s.number);
                    ++waits[static_cast<std::size_t>(s.number)];
                }
        std::priority_queue<int, std::vector<int>, std::greater<>> ready;
        std::vector<int> sorted;
        for (const step& s : all)
            if (waits[static_cast<std::size_t>(s.number)] == 0) ready.push(s.number);
        while (!ready.empty()) {
            const int at = ready.top();
            ready.pop();
            sorted.push_back(at);
            for (int r : readers[static_cast<std::size_t>(at)])
                if (--waits[static_cast<std::size_t>(r)] == 0) ready.push(r);
        }
        if (sorted.size() != all.size())
            for (const step& s : all)
                if (waits[static_cast<std::size_t>(s.number)] > 0)
                    refuse(describe(*s.from, s.number) + " is part of a cycle, or reads one");
        std::vector<std::uint8_t> live(all.size(), 0);
        const auto need = [&](int slot) {
            if (const int g = giver_of(slot); g >= 0) live[static_cast<std::size_t>(g)] = 1;
        };
        for (int o : p_.outputs) need(o);
        for (auto at = sorted.rbegin(); at != sorted.rend(); ++at)
            if (live[static_cast<std::size_t>(*at)])
                for (int i : all[static_cast<std::size_t>(*at)].inputs) need(i);
        for (int at : sorted)
            if (live[static_cast<std::size_t>(at)])
                add(std::move(all[static_cast<std::size_t>(at)]));
    }

    /// Takes a step into the plan; its outputs become constants instead where all its inputs are.
    void add(step s) {
        for (const attribute& a : s.from->attributes)
            s.tensors.push_back(a.type == attribute_type::tensor
                                    ? (*decode_)(read_tensor(p_.file.from, a.tensor, p_.limits))
                                    : any_tensor());
        s.constant = std::all_of(s.inputs.begin(), s.inputs.end(), [&](int i) {
            return i < 0 || fixed_.contains(i) || p_.permanent[static_cast<std::size_t>(i)];
        });
        if (s.constant) {
            if (fold_step(s)) {
                ++p_.folded;
                return;
            }
            fixed_.insert(s.outputs.begin(), s.outputs.end());
        }
        p_.steps.push_back(std::move(s));
    }

    /// Makes constants of the step's outputs, where the host can compute them.
    bool fold_step(const step& s) {
        if (!all_known(s, p_.constants)) return false;
        const auto results = with_place(p_, s, [&] { return fold_outputs(s, p_.constants, p_); });
        if (results.empty()) return false;
        for (std::size_t k = 0; k < s.outputs.size(); ++k)
            if (s.outputs[k] >= 0) {
                const auto slot = static_cast<std::size_t>(s.outputs[k]);
                p_.constants[slot] = results[k];
                p_.permanent[slot] = 1;
            }
        return true;
    }

    plan p_;
    op_set extra_;
    std::unordered_map<std::string_view, int> slots_;
    std::set<int> fixed_;  // slots of constants that only the device computes
    std::unique_ptr<tensor_decoder> decode_;
};

}  // namespace detail

}  // namespace onnx
}  // namespace pumice::inline PUMICE_ABI
