// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// How a file is resolved: names to slots, nodes in order, operators found, constants folded.
#pragma once

#include <pumice/base/unique_ptr.hpp>
#include <pumice/model/onnx/ops.hpp>

#include <algorithm>
#include <set>
#include <unordered_map>

namespace pumice { inline namespace PUMICE_ABI { namespace onnx { namespace detail {

/// The outputs of a step whose inputs are all constants, as constants; empty where one cannot be
/// folded.
inline std::vector<any_tensor> fold_outputs(const resolved_node& s, span<const any_tensor> slots,
                                            const resolved_model& p, bool whatever_size = false) {
    std::vector<any_tensor> results = node_builder(s, slots, p, nullptr, {}).run();
    for (any_tensor& r : results) {
        if (!r.has_value()) continue;
        const auto value =
            p.folder->fold(r, whatever_size ? p.limits.elements : p.limits.folded_elements);
        if (!value) return {};
        r = *value;
    }
    return results;
}

inline bool all_known(const resolved_node& s, span<const any_tensor> slots) {
    return s.reads_only([&](int i) {
        return constant_of(slots[static_cast<std::size_t>(i)]) != nullptr;
    });
}

/// Runs f; what a graph op throws gets the node's name.
template <class F>
auto with_place(const resolved_model& p, const resolved_node& s, F&& f) {
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

class resolver {
public:
    resolver(model_proto m, const model_limits& limits, const op_set& extra, graph_builder* build)
        : extra_(extra) {
        p_.build = build;
        p_.file = std::move(m);
        p_.limits = limits;
    }

    /// Of a graph within another.
    resolver(model_proto m, resolver& around)
        : resolver(std::move(m), around.p_.limits, around.extra_, around.p_.build) {
        around_ = &around;
        depth_ = around.depth_ + 1;
        versions_ = around.versions_;
        if (depth_ > p_.limits.depth)
            refuse("has graphs within one another, deeper than " + std::to_string(p_.limits.depth) +
                   " (model_limits::depth)");
    }

    resolved_model run() {
        header();
        resolved_model made = run_graph();
        int slots = 0, numbers = 0;
        settle(made, nullptr, slots, numbers);
        return made;
    }

private:
    resolved_model run_graph() {
        names();
        auto all = steps();
        for (resolved_node& s : all) find_operator(s, p_.file, extra_);
        p_.constants.resize(p_.names.size());
        p_.permanent.resize(p_.names.size());
        tensors();
        keep_live(std::move(all));
        p_.files = decode_->take_files();
        return std::move(p_);
    }

    /// Numbers the constants of all graphs, and hands those on that graphs read of the one around.
    static void settle(resolved_model& p, const resolved_model* around, int& slots, int& steps) {
        for (std::size_t i = 0; i < p.names.size(); ++i) p.keys.push_back(slots++);
        p.first_step_key = steps;
        steps += static_cast<int>(p.file.nodes.size());
        for (const auto& [own, theirs] : p.captured) {
            const auto to = static_cast<std::size_t>(own), from = static_cast<std::size_t>(theirs);
            p.keys[to] = around->keys[from];
            p.constants[to] = around->constants[from];
            p.permanent[to] = around->permanent[from];
        }
        for (const resolved_node& s : p.steps)
            for (const auto& g : s.graphs)
                if (g) settle(*g, &p, slots, steps);
    }

    [[noreturn]] void refuse(const std::string& why, errc code = errc::bad_file) const {
        throw error(code, "onnx", p_.file.from.name + ": " + why);
    }
    static std::int64_t or_newest(std::int64_t limit, std::int64_t newest) {
        return limit > 0 ? limit : newest;
    }
    void header() {
        const model_proto& m = p_.file;
        if (m.ir_version < 1) refuse("has no IR version: it is no ONNX model, or it was cut off");
        const auto at_most = [&](std::int64_t version, std::int64_t limit, const std::string& what,
                                 const char* option) {
            if (version > limit)
                refuse("is of " + what + " " + std::to_string(version) + "; newest known is " +
                           std::to_string(limit) + " (model_limits::" + option + " raises that)",
                       errc::unsupported);
        };
        at_most(m.ir_version, or_newest(p_.limits.ir_version, newest_ir), "IR version",
                "ir_version");
        const auto imports = [&](const std::vector<opset>& list, const std::string& whose) {
            for (const opset& o : list)
                if (is_onnx(o.domain))
                    at_most(o.version, or_newest(p_.limits.opset, newest_opset), whose, "opset");
        };
        imports(m.opsets, "operator set");
        imports(m.function_opsets, "a function's operator set");
        for (const opset& o : m.opsets) {
            const auto domain = is_onnx(o.domain) ? std::string_view{} : o.domain;
            if (versions_.emplace(domain, o.version).first->second != o.version)
                refuse("imports two versions of the operators of " + quote(o.domain));
        }
        if (m.sparse_initializers > 0)
            refuse("has sparse initializers; make them dense", errc::unsupported);
        if (m.outputs.empty()) refuse("has no output");
    }

    static bool is_onnx(std::string_view domain) { return domain.empty() || domain == "ai.onnx"; }

    int define(std::string_view name, const char* what) {
        if (name.empty()) refuse(std::string("has ") + what + " without a name");
        const auto [at, fresh] = slots_.emplace(name, static_cast<int>(p_.names.size()));
        if (!fresh) refuse("defines " + quote(name) + " twice");
        p_.names.push_back(name);
        return at->second;
    }

    void names() {
        for (const tensor_proto& t : p_.file.initializers) define(t.name, "an initializer");
        const auto initializers = p_.names.size();
        for (const value_info& v : p_.file.inputs) {
            const auto found = slots_.find(v.name);
            if (found != slots_.end() && static_cast<std::size_t>(found->second) < initializers) {
                default_value(v, p_.file.initializers[static_cast<std::size_t>(found->second)]);
                continue;
            }
            const std::string which = "the input " + quote(v.name);
            if (around_ && v.kind.empty() && v.elem_type == 0) {  // it need not say its type
                p_.inputs.push_back(define(v.name, "an input"));
                p_.input_info.push_back(v);
                continue;
            }
            if (!v.is_tensor)
                refuse(which + " is " + (v.kind.empty() ? "of no type" : std::string(v.kind)) +
                           ", not a tensor",
                       v.kind.empty() ? errc::bad_file : errc::unsupported);
            if (!is_type(v.elem_type)) refuse(which + " holds " + name_of_type(v.elem_type));
            if (!to_dtype(v.elem_type))
                refuse(which + " holds " + name_of_type(v.elem_type) +
                           ", which Pumice has no element type for",
                       errc::unsupported);
            if (v.dims.size() > max_rank) refuse(which + " has more than 8 axes");
            p_.inputs.push_back(define(v.name, "an input"));
            p_.input_info.push_back(v);
        }
    }

    /// An input that is an initializer too is declared as that is.
    void default_value(const value_info& v, const tensor_proto& t) const {
        bool fits = !v.is_tensor || v.elem_type == 0 || v.elem_type == t.data_type;
        if (v.has_shape) {
            fits = fits && v.dims.size() == t.dims.size();
            for (std::size_t i = 0; fits && i < t.dims.size(); ++i)
                fits = v.dims[i].size < 0 || v.dims[i].size == t.dims[i];
        }
        if (!fits)
            refuse("the input " + quote(v.name) + " is declared otherwise than its initializer");
    }

    /// A value of this graph or of one around it, which becomes one of this; -1: there is none yet.
    int find(std::string_view name) {
        const auto found = slots_.find(name);
        if (found != slots_.end()) return found->second;
        const int theirs = around_ ? around_->find(name) : -1;
        if (theirs < 0) return -1;
        const int own = define(name, "a value");
        p_.captured.emplace_back(own, theirs);
        return own;
    }
    int slot_of(std::string_view name, const std::string& who) {
        if (const int slot = find(name); slot >= 0) return slot;
        for (const node_proto& n : p_.file.nodes)
            if (std::find(n.outputs.begin(), n.outputs.end(), name) != n.outputs.end())
                refuse(who + " reads " + quote(name) +
                       ", which only it or a later node gives: nodes are not in order");
        refuse(who + " reads " + quote(name) + ", which nothing gives");
    }

    std::int64_t version_of(std::string_view domain) const {
        const auto found = versions_.find(is_onnx(domain) ? std::string_view{} : domain);
        return found == versions_.end() ? 0 : found->second;
    }

    /// ONNX asks for nodes in an order in which what they read comes first.
    std::vector<resolved_node> steps() {
        std::vector<resolved_node> all;
        for (const node_proto& n : p_.file.nodes) {
            resolved_node s;
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
            s.opset = version_of(n.domain);
            if (s.opset < 1 && p_.file.ir_version < 3) s.opset = 1;
            if (s.opset < 1)
                refuse(describe(n, s.number) +
                       " is of a domain that the model does not import: " + quote(n.domain));
            for (std::string_view name : n.inputs)
                s.inputs.push_back(name.empty() ? -1 : slot_of(name, describe(n, s.number)));
            graphs_of(s);
            for (std::string_view name : n.outputs)
                s.outputs.push_back(name.empty() ? -1 : define(name, "a value"));
            all.push_back(std::move(s));
        }
        std::set<std::string_view> given;
        for (const value_info& v : p_.file.outputs) {
            if (!given.insert(v.name).second) refuse("gives " + quote(v.name) + " twice");
            p_.outputs.push_back(slot_of(v.name, "the graph's output"));
        }
        for (const value_info& v : p_.file.values)
            if (const auto found = slots_.find(v.name); found != slots_.end())
                p_.declared.emplace_back(found->second, &v);
        return all;
    }

    /// Those of other operators are not known, and not entered.
    void graphs_of(resolved_node& s) {
        constexpr std::string_view known[] = {"If", "Loop", "Scan"};
        if (!is_onnx(s.from->domain) ||
            std::find(std::begin(known), std::end(known), s.from->op_type) == std::end(known))
            return;
        for (const attribute& a : s.from->attributes) {
            s.graphs.emplace_back();
            if (a.type != attribute_type::graph) continue;
            resolver within(read_graph(a.graph, p_.file, p_.limits), *this);
            s.graphs.back() = std::make_shared<resolved_model>(within.run_graph());
            for (const auto& [own, theirs] : s.graphs.back()->captured)
                s.captured.push_back(theirs);
        }
    }

    void tensors() {
        decode_ = make_owned<tensor_decoder>(p_.file.from, p_.limits);
        for (std::size_t i = 0; i < p_.file.initializers.size(); ++i) {
            p_.constants[i] = (*decode_)(p_.file.initializers[i]);
            p_.permanent[i] = 1;
        }
    }

    /// Leaves out what no output needs.
    void keep_live(std::vector<resolved_node> all) {
        std::vector<std::uint8_t> needed(p_.names.size(), 0), live(all.size(), 0);
        const auto need = [&](int slot) {
            if (slot >= 0) needed[static_cast<std::size_t>(slot)] = 1;
        };
        for (int o : p_.outputs) need(o);
        for (std::size_t i = all.size(); i-- > 0;) {
            live[i] = std::any_of(all[i].outputs.begin(), all[i].outputs.end(), [&](int o) {
                return o >= 0 && needed[static_cast<std::size_t>(o)];
            });
            if (!live[i]) continue;
            for (int input : all[i].inputs) need(input);
            for (int input : all[i].captured) need(input);
        }
        find_factors(all, live);
        for (std::size_t i = 0; i < all.size(); ++i)
            if (live[i]) add(std::move(all[i]));
    }

    /// Finds the values that nothing but products reads, as a factor: a coded weight is not decoded
    /// for them, which is more bytes to hold and to read.
    void find_factors(const std::vector<resolved_node>& all,
                      const std::vector<std::uint8_t>& live) {
        factors_.assign(p_.names.size(), 1);
        const auto other = [&](int slot) {
            if (slot >= 0) factors_[static_cast<std::size_t>(slot)] = 0;
        };
        for (int o : p_.outputs) other(o);
        for (std::size_t i = all.size(); i-- > 0;) {
            const resolved_node& s = all[i];
            if (!live[i]) continue;
            for (int c : s.captured) other(c);
            const bool product = is_any_of(s, {"MatMul", "Gemm"}),
                       same = (passes_on(s) || is_any_of(s, {"DequantizeLinear"})) &&
                              s.outputs.size() == 1 && s.outputs[0] >= 0 &&
                              factors_[static_cast<std::size_t>(s.outputs[0])];
            for (std::size_t k = 0; k < s.inputs.size(); ++k)
                if (!(product && k < 2) && !(same && k == 0)) other(s.inputs[k]);
        }
    }
    static bool is_any_of(const resolved_node& s, std::initializer_list<std::string_view> names) {
        return is_onnx(s.from->domain) &&
               std::find(names.begin(), names.end(), s.from->op_type) != names.end();
    }
    /// Whether it gives its input, seen otherwise.
    static bool passes_on(const resolved_node& s) {
        return is_any_of(s, {"Transpose", "Identity"});
    }
    /// A constant that is decoded where it is read.
    bool is_packed(const resolved_node& s) const {
        if (s.outputs.size() != 1 || s.outputs[0] < 0 || s.inputs.empty() ||
            !factors_[static_cast<std::size_t>(s.outputs[0])])
            return false;
        const auto known = [&](int i) {
            return i < 0 || fixed_.contains(i) || p_.permanent[static_cast<std::size_t>(i)];
        };
        return passes_on(s) ? packed_.contains(s.inputs[0])
                            : is_any_of(s, {"DequantizeLinear"}) &&
                                  std::all_of(s.inputs.begin(), s.inputs.end(), known);
    }

    /// Takes a step into the model; its outputs become constants instead where all its inputs are.
    void add(resolved_node s) {
        for (const attribute& a : s.from->attributes)
            s.tensors.push_back(a.type == attribute_type::tensor
                                    ? (*decode_)(read_tensor(p_.file.from, a.tensor, p_.limits))
                                    : any_tensor());
        s.packed = is_packed(s);
        if (s.packed) packed_.insert(s.outputs[0]);
        s.constant = !s.packed && s.reads_only([&](int i) {
            return fixed_.contains(i) || p_.permanent[static_cast<std::size_t>(i)];
        });
        if (s.constant) {
            if (fold_step(s)) {
                ++p_.folded;
                return;
            }
            fixed_.insert(s.outputs.begin(), s.outputs.end());
        }
        const std::string op(s.from->op_type.substr(0, 64));
        s.origin = node_label("", s.from->name.empty() ? op + " #" + std::to_string(s.number)
                                                       : op + " " + quote(s.from->name));
        for (int o : s.outputs)
            s.names.push_back(o < 0
                                  ? s.origin
                                  : node_label(p_.names[static_cast<std::size_t>(o)].substr(0, 128),
                                               s.origin.origin()));
        p_.steps.push_back(std::move(s));
    }

    /// Makes constants of the step's outputs, where the host can compute them.
    bool fold_step(const resolved_node& s) {
        if (s.shader || !all_known(s, p_.constants)) return false;
        // A weight that is quantised goes to the device so, and not as it was.
        const bool quantised = is_any_of(s, {"QuantizeLinear"}) && s.outputs.size() == 1 &&
                               s.outputs[0] >= 0 &&
                               factors_[static_cast<std::size_t>(s.outputs[0])];
        const auto results =
            with_place(p_, s, [&] { return fold_outputs(s, p_.constants, p_, quantised); });
        if (results.empty()) return false;
        for (std::size_t k = 0; k < s.outputs.size(); ++k)
            if (s.outputs[k] >= 0) {
                const auto slot = static_cast<std::size_t>(s.outputs[k]);
                p_.constants[slot] = results[k];
                const bool made = !s.inputs.empty() && !constant_of(results[k])->in_file();
                if (made && results[k].size() <= p_.limits.folded_elements)
                    work_ += results[k].size();
                if (work_ > p_.limits.folded_work)
                    refuse("makes more constants than model_limits::folded_work allows");
                p_.permanent[slot] = 1;
            }
        return true;
    }

    resolved_model p_;
    op_set extra_;
    resolver* around_ = nullptr;  // that of the graph in which this one is
    std::int64_t depth_ = 0;
    std::unordered_map<std::string_view, int> slots_;
    std::map<std::string_view, std::int64_t> versions_;  // of operator sets, by domain
    std::int64_t work_ = 0;                              // elements that were folded
    std::set<int> fixed_;                // slots of constants that only the device computes
    std::set<int> packed_;               // and of those that it decodes where it reads them
    std::vector<std::uint8_t> factors_;  // of each slot whether only products read it
    unique_ptr<tensor_decoder> decode_;
};

}}}}  // namespace pumice::PUMICE_ABI::onnx::detail
