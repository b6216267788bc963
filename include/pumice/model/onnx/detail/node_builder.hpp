// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What the builder of an ONNX operator sees: its inputs as graph nodes, its attributes, and what is
// already known on the host. Builders (detail/) make the nodes that typed code would make.
#pragma once

#include <pumice/expr/ops.hpp>
#include <pumice/graph/build.hpp>
#include <pumice/model/builder.hpp>
#include <pumice/model/fold.hpp>
#include <pumice/model/onnx/detail/label_nodes.hpp>
#include <pumice/model/onnx/tensor_decoder.hpp>

#include <algorithm>
#include <cmath>

namespace pumice { inline namespace PUMICE_ABI { namespace onnx {

class node_builder;

/// A row of THE operator table (ops.hpp): a name and what builds it.
struct op_row {
    std::string_view name;
    any_tensor (*build)(node_builder&);  // gives output 0; others through node_builder::set
};

struct resolved_model;
struct own_shader_node;  // shader.hpp

/// A node with its operator found and its names resolved to slots.
struct resolved_node {
    const node_proto* from = nullptr;
    const op_row* row = nullptr;
    const op_info* op = nullptr;                    // of an elementwise operator
    std::shared_ptr<const own_shader_node> shader;  // of a shader operator
    std::vector<double> scalars;                    // its attributes, the trailing operands
    std::int64_t opset = 0;
    int number = 0;                    // place in the file
    std::vector<int> inputs, outputs;  // slots; -1: left out
    std::vector<any_tensor> tensors;   // values of its attributes, by their place; empty for others
    std::vector<std::shared_ptr<resolved_model>> graphs;  // likewise
    std::vector<int> captured;  // slots that the graphs read beside their own inputs
    bool constant = false;      // every input is a constant
    bool packed = false;        // a coded weight that products decode as they load it
    // Of what is made: the origin of all of it, and the names of outputs, by their place.
    node_label origin;
    std::vector<node_label> names;

    /// f(slot) of all that it reads.
    template <class F>
    bool reads_only(F&& f) const {
        return std::all_of(inputs.begin(), inputs.end(), [&](int i) { return i < 0 || f(i); }) &&
               std::all_of(captured.begin(), captured.end(), f);
    }
};

/// Builds the graph over `inputs` and gives the value of every slot. With `where` null shapes and
/// types are worked out and nothing can be run. `dry`: the inputs have no values, nothing may run.
/// `around` are the slots of the graph in which this one is, `left` the steps that graphs within
/// graphs may still take.
using graph_builder = std::vector<any_tensor>(const resolved_model& p,
                                              span<const any_tensor> inputs, weights* where,
                                              std::optional<dtype> compute, bool dry,
                                              span<const any_tensor> around, std::int64_t* left);

/// A checked model, immutable. Slots number its values.
struct resolved_model {
    model_proto file;
    model_limits limits;
    std::vector<resolved_node>
        steps;  // in an order in which inputs come first; only what outputs need
    std::vector<std::string_view> names;  // of slots
    std::vector<any_tensor> constants;    // by slot; empty where the value is computed in a run
    std::vector<std::uint8_t> permanent;  // by slot: constants of the model
    std::vector<int> inputs, outputs;     // slots, in the order of the graph
    std::vector<value_info> input_info;   // of the graph's inputs that are no initializers
    std::vector<std::pair<int, const value_info*>> declared;  // what the file says of slots
    std::vector<std::shared_ptr<input_file>> files;           // of external data
    std::shared_ptr<const constant_folder> folder = std::make_shared<constant_folder>();
    std::size_t folded = 0;  // nodes that became constants

    graph_builder* build = nullptr;  // of graphs within
    // Of a graph within another: the slots that are the other's, each with its number there.
    std::vector<std::pair<int, int>> captured;
    std::vector<int> keys;   // of each slot, among those of all graphs: names its constant
    int first_step_key = 0;  // likewise of steps

    resolved_model() = default;
    resolved_model(resolved_model&&) =
        default;  // steps point into the file's nodes, which do not move
    resolved_model& operator=(resolved_model&&) = default;
};

/// Names come from files, and are cut.
inline std::string quote(std::string_view name) {
    return "\"" + std::string(name.substr(0, 128)) + "\"";
}

/// `node "name" (Op)`, or its number where it has no name.
inline std::string describe(const node_proto& n, int number) {
    const std::string name = n.name.empty() ? "#" + std::to_string(number) : quote(n.name);
    return "node " + name + " (" + std::string(n.op_type.substr(0, 64)) + ")";
}

class node_builder {
public:
    /// With `where` null only shapes and constants are worked out; `dry`, what is no constant has
    /// no value yet. `compute` replaces f32.
    node_builder(const resolved_node& s, span<const any_tensor> slots, const resolved_model& m,
                 weights* where, std::optional<dtype> compute, bool dry = false,
                 std::int64_t* left = nullptr)
        : step_(s), slots_(slots), model_(m), where_(where), compute_(compute), dry_(dry),
          left_(left) {}

    // inputs --------------------------------------------------------------------------------------
    int inputs() const noexcept { return static_cast<int>(step_.inputs.size()); }
    bool has(int i) const noexcept { return i < inputs() && slot(i) >= 0; }
    /// Input i for looking at: a constant, an abstract tensor or a tensor of a run.
    const any_tensor& value(int i) const {
        if (!has(i)) fail(errc::bad_file, "lacks input " + std::to_string(i));
        return slots_[static_cast<std::size_t>(slot(i))];
    }
    const pumice::shape& extent(int i) const { return value(i).shape(); }
    bool known(int i) const { return constant_of(value(i)) != nullptr; }

    /// The greatest rank of the inputs that hold numbers and are no constants; -1 where there are
    /// none.
    int widest() {
        if (widest_ != unset) return widest_;
        widest_ = -1;
        for (int i = 0; i < inputs(); ++i)
            if (has(i) && !known(i) && value(i).dtype() != dtype::boolean)
                widest_ = std::max(widest_, value(i).rank());
        return widest_;
    }

    /// Input i as an operand: constants are uploaded, once where they belong to the model.
    any_tensor tensor(int i) {
        const any_tensor& v = value(i);
        if (!constant_of(v)) return v;
        if (!where_) return in_compute_type(v);
        if (!model_.permanent[static_cast<std::size_t>(slot(i))]) return where_->upload(v);
        return called(where_->get(weights::of_slot(model_.keys[static_cast<std::size_t>(slot(i))]),
                                  [&] { return v; }),
                      name(i));
    }

    /// f(inputs...) for inputs that are constants of the model: computed on the host while loading
    /// where that is possible, and kept under `key` (small, distinct within the operator).
    template <class F>
    any_tensor derived(int key, std::initializer_list<int> in, F&& f) {
        std::vector<any_tensor> constants;
        bool keep = where_ != nullptr;
        for (int i : in) {
            if (known(i)) constants.push_back(value(i));
            keep = keep && known(i) && model_.permanent[static_cast<std::size_t>(slot(i))];
        }
        const auto run = [&] {
            std::vector<any_tensor> operands;
            for (int i : in) operands.push_back(tensor(i));
            return f(span<const any_tensor>(operands));
        };
        if (constants.size() != in.size()) return run();
        if (!where_) return in_compute_type(f(span<const any_tensor>(constants)));
        if (!keep) return run();
        if (auto there = where_->find(weights::of_step(model_.first_step_key + step_.number, key)))
            return *there;
        const auto value = folded(f(span<const any_tensor>(constants)));
        const any_tensor made = value ? *value : run();
        const node_label label(std::string(name(*in.begin())) + " (derived)",
                               step_.origin.origin());
        // Other threads know it from here on, so it has its label first.
        if (!value) label_(span(&made, 1), {label}, step_.origin);
        return called(where_->get(weights::of_step(model_.first_step_key + step_.number, key),
                                  [&] { return made; }),
                      label.name());
    }

    /// A constant of the builder's own, ready as an operand; `key` as in derived.
    any_tensor own(int key, const any_tensor& constant) {
        if (!where_) return in_compute_type(constant);
        return where_->get(weights::of_step(model_.first_step_key + step_.number, key),
                           [&] { return constant; });
    }

    /// Input i as a constant. One that a run computes is evaluated and downloaded here, because the
    /// graph that is being built depends on it.
    any_tensor fetched(int i) const {
        const any_tensor& v = value(i);
        if (constant_of(v)) return v;
        const std::string which = "input " + std::to_string(i) + " (\"" +
                                  std::string(step_.from->inputs[static_cast<std::size_t>(i)]) +
                                  "\")";
        if (v.size() > limits().folded_elements) fail(errc::bad_file, which + " is too long");
        const auto needed = [&] {
            return needs_value(
                errc::unsupported, "onnx",
                describe(*step_.from, step_.number) + " needs " + which +
                    " when the graph is built, but it is computed from the model's inputs");
        };
        if (!where_ || dry_) throw needed();
        std::vector<std::byte> bytes(static_cast<std::size_t>(v.size_bytes()));
        try {
            read(v, bytes);
        } catch (const error& e) {  // in the body of a loop: those of each step are told apart
            const pumice::detail::open_scope* of = pumice::detail::open_scopes;
            while (of && e.where() != of->name) of = of->outer;
            if (!of && (pumice::detail::current_scope == 0 || e.where() != "compile")) throw;
            throw needed();
        }
        return make_constant(v.dtype(), v.shape(), std::move(bytes));
    }
    /// What else than a list of 64 bits ONNX takes for an input of integers.
    struct also {
        bool narrow = false;  // 32 bits
        bool single = false;  // one without axes
    };
    std::vector<std::int64_t> input_integers(int i, also a) const {
        const dtype type = value(i).dtype();
        const std::string which = "input " + std::to_string(i);
        if (value(i).size() > limits().folded_elements)
            fail(errc::bad_file, which + " is too long");
        if (type != dtype::i64 && !(a.narrow && type == dtype::i32))
            fail(errc::dtype_mismatch, which + " must hold integers of 64 bits" +
                                           (a.narrow ? " or 32" : "") + ", holds " +
                                           std::string(to_string(type)));
        if (value(i).rank() != 1 && !(a.single && value(i).rank() == 0))
            fail(errc::rank_mismatch,
                 which + " must be a list, has the shape " + to_string(extent(i)));
        return constant_values<std::int64_t>(fetched(i));
    }
    std::vector<std::int64_t> input_integers(int i) const { return input_integers(i, also{}); }
    /// The single number of input i, where it is known.
    std::optional<double> number(int i) const {
        if (!has(i) || !known(i) || value(i).size() != 1) return std::nullopt;
        return constant_values<double>(value(i))[0];
    }

    // attributes ----------------------------------------------------------------------------------
    const attribute* find(std::string_view name) {
        const auto& list = step_.from->attributes;
        for (std::size_t i = 0; i < list.size(); ++i)
            if (list[i].name == name) {
                used_ |= std::uint64_t(1) << i;
                return &list[i];
            }
        return nullptr;
    }
    std::int64_t integer(std::string_view name, std::int64_t otherwise) {
        const attribute* a = find(name, attribute_type::integer);
        return a ? a->integer : otherwise;
    }
    double real(std::string_view name, double otherwise) {
        const attribute* a = find(name, attribute_type::real);
        return a ? static_cast<double>(a->real) : otherwise;
    }
    std::string_view text(std::string_view name, std::string_view otherwise) {
        const attribute* a = find(name, attribute_type::text);
        return a ? a->text : otherwise;
    }
    std::optional<std::vector<std::int64_t>> integers(std::string_view name) {
        const attribute* a = find(name, attribute_type::integers);
        return a ? std::optional(a->integers) : std::nullopt;
    }
    /// The value of an attribute that is a tensor.
    const any_tensor& decode(const attribute& a) const {
        return step_.tensors[static_cast<std::size_t>(&a - step_.from->attributes.data())];
    }
    /// An attribute that does not change what is computed here.
    void ignore(std::string_view name) { find(name); }
    const attribute* find(std::string_view name, attribute_type type) {
        const attribute* a = find(name);
        if (a && a->type != type)
            fail(errc::bad_file,
                 "attribute \"" + std::string(name) + "\" is of another type than ONNX gives it");
        return a;
    }

    // graphs --------------------------------------------------------------------------------------
    /// That of an attribute.
    const resolved_model& graph(std::string_view name) {
        const attribute* a = find(name, attribute_type::graph);
        if (!a) fail(errc::bad_file, "lacks the graph \"" + std::string(name) + "\"");
        return *step_.graphs[static_cast<std::size_t>(a - step_.from->attributes.data())];
    }
    /// Its outputs over these inputs, and what it reads of the graph around it.
    std::vector<any_tensor> run(const resolved_model& g, span<const any_tensor> in) const {
        const auto slots = model_.build(g, in, where_, compute_, dry_, slots_, left_);
        std::vector<any_tensor> list;
        for (const int o : g.outputs) list.push_back(slots[static_cast<std::size_t>(o)]);
        return list;
    }
    any_tensor uploaded(const any_tensor& t) const {
        return where_ ? where_->upload(t) : in_compute_type(t);
    }
    /// Null where only shapes are worked out.
    std::shared_ptr<engine> home() const { return where_ ? where_->where().get() : nullptr; }
    /// The number of elements that the file says of axis 0 of output k; -1 where it says nothing.
    std::int64_t declared_rows(std::size_t k) const {
        for (const auto* list : {&model_.file.outputs, &model_.file.values})
            for (const value_info& v : *list)
                if (k < step_.from->outputs.size() && v.name == step_.from->outputs[k] &&
                    v.has_shape && !v.dims.empty())
                    return v.dims[0].size;
        return -1;
    }
    /// Throws needs_value where nothing may run yet.
    void must_run(const std::string& why) const {
        if (!where_ || dry_)
            throw needs_value(errc::unsupported, "onnx",
                              describe(*step_.from, step_.number) + " " + why);
    }

    // the rest ------------------------------------------------------------------------------------
    const onnx::resolved_node& at() const noexcept { return step_; }
    std::int64_t opset() const noexcept { return step_.opset; }
    const model_limits& limits() const noexcept { return model_.limits; }
    /// Of constants alone: the value, where it is small enough.
    std::optional<any_tensor> folded(const any_tensor& t) const {
        return model_.folder->fold(t, limits().folded_elements);
    }
    /// What the file calls `type` as it is computed here.
    dtype computed(dtype type) const noexcept {
        return compute_ && type == dtype::f32 ? *compute_ : type;
    }
    std::size_t outputs() const noexcept { return step_.outputs.size(); }
    bool wants(std::size_t k) const noexcept { return k < outputs() && step_.outputs[k] >= 0; }
    /// Sets output k (0 is what the builder returns).
    void set(std::size_t k, any_tensor t) {
        if (others_.size() <= k) others_.resize(k + 1);
        others_[k] = std::move(t);
    }

    /// The axes of a list, counted from the front. Throws where one is none of `rank`, or named
    /// twice.
    std::vector<int> axes_of(span<const std::int64_t> list, int rank) const {
        std::vector<int> axes;
        for (const std::int64_t a : list) {
            const int i = normalize_axis(a, rank, std::string(step_.from->op_type).c_str());
            if (std::find(axes.begin(), axes.end(), i) != axes.end())
                fail(errc::bad_file, "names axis " + std::to_string(a) + " twice");
            axes.push_back(i);
        }
        return axes;
    }

    [[noreturn]] void fail(errc code, const std::string& why) const {
        throw error(code, "onnx", describe(*step_.from, step_.number) + " " + why);
    }

    /// Runs the row and gives all outputs. Throws where an attribute or output is none that it
    /// knows.
    std::vector<any_tensor> run() {
        if (where_)
            for (int i : step_.inputs)
                if (i >= 0) label_.was_there(slots_[static_cast<std::size_t>(i)]);
        if (!provided()) {
            any_tensor first = step_.row->build(*this);
            set(0, std::move(first));
        }
        for (std::size_t i = 0; i < step_.from->attributes.size(); ++i)
            if (!(used_ >> i & 1))
                fail(errc::unsupported_op, "has the attribute \"" +
                                               std::string(step_.from->attributes[i].name) +
                                               "\", which operator set " + std::to_string(opset()) +
                                               " or Pumice does not know");
        for (any_tensor& t : others_)  // what was made of constants alone is one, not the device's
            if (where_ && t.has_value() && !t.get()->owner && !constant_of(t))
                if (auto value = folded(t)) t = std::move(*value);
        others_.resize(std::max(others_.size(), outputs()));
        for (std::size_t k = 0; k < outputs(); ++k)
            if (wants(k) && !others_[k].has_value())
                fail(errc::unsupported_op,
                     "has output " + std::to_string(k) + ", which Pumice does not compute");
        if (where_) label_(others_, step_.names, step_.origin);
        return std::move(others_);
    }

private:
    /// The node as a provider sees it.
    struct request final : op_request {
        explicit request(node_builder& b) : builder(b) {}
        std::int64_t integer(std::string_view a, std::int64_t otherwise) const override {
            return builder.integer(a, otherwise);
        }
        double real(std::string_view a, double otherwise) const override {
            return builder.real(a, otherwise);
        }
        std::string_view text(std::string_view a, std::string_view otherwise) const override {
            return builder.text(a, otherwise);
        }
        std::vector<std::int64_t> integers(std::string_view a) const override {
            return builder.integers(a).value_or(std::vector<std::int64_t>());
        }
        node_builder& builder;
    };
    /// Asks the user's providers; true where one has given the outputs.
    bool provided() {
        if (!where_ || where_->providers.empty()) return false;
        std::vector<any_tensor> operands;
        for (int i = 0; i < inputs(); ++i) operands.push_back(has(i) ? tensor(i) : any_tensor());
        const std::uint64_t used = used_;
        request r(*this);
        r.op = step_.from->op_type;
        r.domain = step_.from->domain;
        r.opset = opset();
        r.name = step_.from->name;
        r.inputs = operands;
        r.outputs = outputs();
        for (const op_provider& p : where_->providers) {
            std::vector<any_tensor> made = p(r);
            if (made.empty()) continue;
            if (made.size() != outputs())
                fail(errc::invalid_argument, "is given " + std::to_string(made.size()) +
                                                 " outputs by a provider, and has " +
                                                 std::to_string(outputs()));
            for (const any_tensor& t : made)
                if (t.has_value() && t.get()->owner != home())
                    fail(errc::context_mismatch, "is given a tensor of another context");
            used_ = ~std::uint64_t{0};  // what its attributes mean is the provider's
            others_ = std::move(made);
            return true;
        }
        used_ = used;
        return false;
    }
    /// A constant on its device.
    static any_tensor called(any_tensor t, std::string_view name) {
        if (t.get()->label.empty()) t.get()->label.set(node_label(name.substr(0, 128)));
        return t;
    }
    std::string_view name(int i) const { return model_.names[static_cast<std::size_t>(slot(i))]; }
    int slot(int i) const noexcept { return step_.inputs[static_cast<std::size_t>(i)]; }
    any_tensor in_compute_type(const any_tensor& t) const { return astype(t, computed(t.dtype())); }

    const onnx::resolved_node& step_;
    span<const any_tensor> slots_;
    const resolved_model& model_;
    weights* where_;
    std::optional<dtype> compute_;
    bool dry_ = false;
    std::int64_t* left_ = nullptr;  // steps of graphs within graphs; null: not counted
    std::uint64_t used_ = 0;
    static constexpr int unset = -2;
    int widest_ = unset;
    std::vector<any_tensor> others_;
    detail::label_nodes label_;
};

}}}  // namespace pumice::PUMICE_ABI::onnx
