// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What a plan consists of, each type once, to JSON and from it.
#pragma once

#include <pumice/exec/plan/detail/op_table.hpp>
#include <pumice/exec/plan/detail/plan_fields.hpp>
#include <pumice/exec/problem_kind.hpp>
#include <pumice/graph/decode.hpp>

#include <algorithm>
#include <charconv>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

/// Writes C++ values to JSON, or reads them: each type is said once. An object lacks the fields
/// that are as a new one has them.
template <bool reads>
class plan_coder {
public:
    using json = plan_json;

    explicit plan_coder(plan_names names = {}) : names_(std::move(names)) {}

    /// Of a plan; the tables of what it names come first.
    op_table ops;
    json kernels = json::object();
    array_list<std::shared_ptr<const program>> programs;

    /// `what` names the value in messages.
    template <class T>
    void code(json& j, T& v, std::string_view what) {
        using U = std::remove_const_t<T>;
        const std::size_t length = path_.size();
        append_text(path_, {path_.empty() ? "" : ".", what});
        if constexpr (std::is_same_v<U, bool>) {
            if constexpr (reads)
                v = wanted(j.is_boolean(), j, "true or false").template get<bool>();
            else j = v;
        } else if constexpr (std::is_integral_v<U>) {
            if constexpr (reads) v = integer<U>(j);
            else j = v;
        } else if constexpr (std::is_same_v<U, double>) {
            if constexpr (reads) v = wanted(j.is_number(), j, "a number").template get<double>();
            else j = v;
        } else if constexpr (std::is_same_v<U, std::string>) {
            if constexpr (reads) v = wanted(j.is_string(), j, "text").template get<std::string>();
            else j = v;
        } else if constexpr (std::is_enum_v<U>) {
            if constexpr (reads) v = named<U>(wanted(j.is_string(), j, "a name"));
            else j = to_string(v);
        } else if constexpr (std::is_array_v<U>) {
            for (std::size_t i = 0; i < std::extent_v<U>; ++i)
                code(element(j, i, std::extent_v<U>), v[i], cat({i}));
        } else if constexpr (std::is_same_v<U, index_list>) {
            if constexpr (reads) {
                v = {};
                wanted(j.is_array() && j.size() <= max_rank, j, "a list of at most 8 numbers");
                for (json& each : j) v.push_back(integer<std::int64_t>(each));
            } else {
                j = json::array();
                for (const std::int64_t n : v) j.push_back(n);
            }
        } else if constexpr (is_plan_list<U>) {
            code_list(j, v);
        } else if constexpr (has_fields<U>) {
            code_fields(j, v);
        } else {
            code_one(j, v);
        }
        path_.resize(length);
    }
    [[noreturn]] void fault(std::initializer_list<piece> why) const {
        fail(errc::bad_file, "plan", {path_, path_.empty() ? "" : ": ", cat(why)});
    }
    json& wanted(bool good, json& j, const char* what) const {
        if (!good) fault({"wants ", what, ", has ", j.type_name()});
        return j;
    }

    /// Every op and kernel that the tables name is known, and is the one that was meant.
    void find_names() {
        path_ = "ops";
        wanted(ops.rows.is_object(), ops.rows, "an object");
        ops.find_all(names_.ops, names_.called);
        path_ = "kernels";
        for (auto& [name, text] : wanted(kernels.is_object(), kernels, "an object").items())
            if (text != digest_in_plan(kernel_named(name)->text))
                fault({"`", name, "` is another one here: its text has changed"});
        path_.clear();
    }
    /// A program of the table: its instructions, and the numbers of those that are its outputs.
    void code_program(json& j, std::conditional_t<reads, program, const program>& p) {
        json& rows = element(j, 0, 2);
        code(element(j, 1, 2), p.outputs, "outputs");
        if constexpr (reads) {
            wanted(rows.is_array() && rows.size() <= max_program, rows, "a list of instructions");
            for (json& row : rows) {
                p.code.emplace_back();
                code(row, p.code.back(), cat({"instruction ", p.code.size() - 1}));
            }
        } else {
            rows = json::array();
            for (const instruction& i : p.code) {
                rows.emplace_back();
                code(rows.back(), i, "");
            }
        }
    }

private:
    template <class T>
    using value = std::conditional_t<reads, T, const T>;

    json& element(json& j, std::size_t i, std::size_t count) const {
        if constexpr (reads) {
            if (!j.is_array() || j.size() != count) fault({"wants a list of ", count});
        } else if (!j.is_array()) {
            j = json::array();
            for (std::size_t k = 0; k < count; ++k) j.emplace_back();
        }
        return j[i];
    }
    template <class Integer>
    Integer integer(json& j) const {
        wanted(j.is_number_integer(), j, "a whole number");
        if (j.is_number_unsigned() ? std::in_range<Integer>(j.template get<std::uint64_t>())
                                   : std::in_range<Integer>(j.template get<std::int64_t>()))
            return j.template get<Integer>();
        fault({"the number ", j.dump(), " is too large or too small"});
    }
    /// Enumerators count from 0 to the last that has a name.
    template <class Enum>
    Enum named(json& j) const {
        const auto name = j.template get<std::string>();
        for (int i = 0; i < count_of<Enum>(); ++i)
            if (to_string(static_cast<Enum>(i)) == name) return static_cast<Enum>(i);
        fault({"there is no `", name, "`"});
    }
    template <class Enum>
    static constexpr int count_of() {
        if constexpr (std::is_same_v<Enum, dtype>) return static_cast<int>(std::size(dtype_table));
        else if constexpr (std::is_same_v<Enum, value_role>)
            return static_cast<int>(value_role::output) + 1;
        else if constexpr (std::is_same_v<Enum, reduction>)
            return static_cast<int>(reduction::by_op) + 1;
        else if constexpr (std::is_same_v<Enum, normalization>)
            return static_cast<int>(normalization::rms_norm) + 1;
        else if constexpr (std::is_same_v<Enum, scattering>)
            return static_cast<int>(scattering::min) + 1;
        else if constexpr (std::is_same_v<Enum, pooling>)
            return static_cast<int>(pooling::average) + 1;
        else if constexpr (std::is_same_v<Enum, fold>) return static_cast<int>(fold::inside) + 1;
        else if constexpr (std::is_same_v<Enum, deciding>)
            return static_cast<int>(deciding::loop) + 1;
    }

    template <class List>
    void code_list(json& j, List& v) {
        if constexpr (reads) {
            v = {};
            for (json& each : wanted(j.is_array(), j, "a list")) {
                v.push_back(fresh<typename List::value_type>());
                code(each, v[v.size() - 1], cat({v.size() - 1}));
            }
        } else {
            j = json::array();
            for (const auto& each : v) {
                j.emplace_back();
                code(j.back(), each, "");
            }
        }
    }
    template <class T>
    static T fresh() {
        if constexpr (std::is_same_v<T, scalar_operand>) return scalar();
        else if constexpr (std::is_same_v<T, plan_step>) return {elementwise_problem()};
        else return {};
    }

    template <class T>
    void code_fields(json& j, T& v) {
        using U = std::remove_const_t<T>;
        if constexpr (reads) {
            std::size_t known = 0;
            wanted(j.is_object(), j, "an object");
            each_field(v, [&](const char* name, auto& member) {
                const auto found = j.find(name);
                if (found == j.end()) return;
                ++known;
                code(*found, member, name);
            });
            if (known != j.size()) fault({"has a field that is not known"});
        } else {
            static const json as_new = [] {
                plan_coder coder;
                json made = json::object();
                const U held = fresh<U>();
                each_field(held, [&](const char* name, const auto& member) {
                    using M = std::remove_cvref_t<decltype(member)>;
                    if constexpr (!std::is_same_v<M, problem>) coder.code(made[name], member, name);
                });
                return made;
            }();
            if (!j.is_object()) j = json::object();
            each_field(v, [&](const char* name, const auto& member) {
                json one;
                code(one, member, name);
                if (!as_new.contains(name) || one != as_new[name]) j[name] = std::move(one);
            });
        }
    }

    void code_one(json& j, value<problem>& p) {
        if constexpr (reads) {
            wanted(j.is_object() && j.contains("kind") && j["kind"].is_string(), j,
                   "an object with a kind");
            const auto kind = j["kind"].template get<std::string>();
            j.erase("kind");
            if (!read_problem(j, kind, p, coded_problems()))
                fault({"there is no problem `", kind, "`"});
        } else if (!write_problem(j, p, coded_problems())) {
            fail(errc::unsupported, "plan",
                 {"a plan with the problem `", p.kind().name,
                  "` has no text: its kind is none of the library's"});
        }
    }
    template <class... P>
    bool read_problem(json& j, std::string_view kind, problem& p, type_list<P...>) {
        const auto read = [&]<class Problem>(std::shared_ptr<Problem> held) {
            code_fields(j, *held);
            p = problem(held);
            return true;
        };
        return ((kind == P::name && read(std::make_shared<P>())) || ...);
    }
    template <class... P>
    bool write_problem(json& j, const problem& p, type_list<P...>) {
        const auto write = [&](const auto* held) {
            if (!held) return false;
            j = {{"kind", p.kind().name}};
            code_fields(j, *held);
            return true;
        };
        return (write(p.template get_if<P>()) || ...);
    }
    /// Its name, or name and origin.
    void code_one(json& j, value<node_label>& l) {
        if constexpr (reads) {
            std::string parts[2];
            if (!j.is_array()) j = json::array({j, ""});
            for (std::size_t i = 0; i < 2; ++i) {
                json& part = element(j, i, 2);
                parts[i] = wanted(part.is_string(), part, "a name").template get<std::string>();
            }
            l = node_label(parts[0], parts[1]);
        } else if (l.origin().empty()) j = l.name();
        else j = json::array({l.name(), l.origin()});
    }
    void code_one(json& j, value<std::shared_ptr<const plan>>& p) {
        if constexpr (reads) {
            constexpr int deepest = 32;  // each takes memory of this thread's stack
            if (++depth_ > deepest) fault({"plans within plans, deeper than ", deepest});
            const auto made = std::make_shared<plan>();
            code_fields(j, *made);
            made->list_values();
            find_decisions(*made);
            p = made;
            --depth_;
        } else if (p) {
            code_fields(j, *p);
        }
    }
    /// Its number in the table.
    void code_one(json& j, value<std::shared_ptr<const program>>& p) {
        if constexpr (reads) {
            const auto number = integer<std::size_t>(j);
            if (number >= programs.size()) fault({"there is no program ", number});
            p = programs[number];
        } else if (p) {
            std::size_t number = 0;
            while (number < programs.size() && !is_equal(*programs[number], *p)) ++number;
            if (number == programs.size()) programs.push_back(p);
            j = number;
        }
    }
    static bool is_equal(const program& a, const program& b) {
        return std::equal(a.code.begin(), a.code.end(), b.code.begin(), b.code.end()) &&
               std::equal(a.outputs.begin(), a.outputs.end(), b.outputs.begin(), b.outputs.end());
    }
    /// An op's name, or nothing.
    void code_one(json& j, value<const op_info*>& op) {
        if constexpr (reads)
            op = j.is_null()
                     ? nullptr
                     : &op_named(wanted(j.is_string(), j, "an op").template get<std::string>());
        else if (op) j = ops.add(*op);
        else j = nullptr;
    }
    void code_one(json& j, value<const storage_format*>& f) {
        if constexpr (reads) {
            if (j.is_null()) return;
            const auto name = wanted(j.is_string(), j, "a format").template get<std::string>();
            f = formats::named(name);
            if (!f) fault({"no format is called `", name, "` here"});
        } else if (f) {
            j = f->name;
        } else {
            j = nullptr;
        }
    }
    /// [what, type, number] of what is read, with its format; [what, type, op, arguments] of what
    /// is computed.
    void code_one(json& j, value<instruction>& i) {
        using code_of = instruction::code;
        static constexpr std::string_view words[] = {"leaf", "iota",  "scalar", "given", "apply",
                                                     "cast", "coded", "mapped", "inside"};
        if constexpr (reads) {
            wanted(j.is_array() && j.size() >= 3 && j[0].is_string(), j, "an instruction");
            const auto word = j[0].template get<std::string>();
            const auto at = std::find(std::begin(words), std::end(words), word);
            if (at == std::end(words)) fault({"there is no instruction `", word, "`"});
            i.what = static_cast<code_of>(at - words);
            code(j[1], i.type, "type");
            std::size_t next = 2;
            if (i.what == code_of::apply) {
                json& name = j[next++];
                i.op =
                    &op_named(wanted(name.is_string(), name, "an op").template get<std::string>());
            }
            if (i.what == code_of::coded) code(element(j, 3, 4), i.format, "format");
            if (i.what == code_of::mapped) code(element(j, 3, 4), i.map, "form");
            if (j.size() != next + static_cast<std::size_t>(std::max(i.arity(), i.op ? 0 : 1)) +
                                (i.format || i.map != 0 ? 1 : 0))
                fault({"has ", j.size(), " parts"});
            if (i.arity() == 0) code(j[next], i.index, "number");
            for (int a = 0; a < i.arity(); ++a)
                code(j[next + static_cast<std::size_t>(a)], i.args[a], "argument");
        } else {
            j = json::array({words[static_cast<std::size_t>(i.what)], to_string(i.type)});
            if (i.what == code_of::apply) {
                j.push_back(ops.add(*i.op));
            }
            if (i.arity() == 0) j.push_back(i.index);
            if (i.what == code_of::coded) j.push_back(i.format->name);
            if (i.what == code_of::mapped) j.push_back(i.map);
            for (int a = 0; a < i.arity(); ++a) j.push_back(i.args[a]);
        }
    }
    /// [type, value]; the bits of what JSON has no number for.
    void code_one(json& j, value<scalar>& s) {
        if constexpr (reads) {
            dtype type{};
            code(element(j, 0, 2), type, "type");
            json& v = j[1];
            if (v.is_string()) {
                const auto text = v.template get<std::string>();
                const auto end =
                    std::from_chars(text.data(), text.data() + text.size(), s.bits, 16);
                if (end.ec != std::errc() || end.ptr != text.data() + text.size())
                    fault({"wants bits, has `", text, "`"});
                s.type = type;
            } else if (is_floating(type)) {
                s = {type, wanted(v.is_number(), v, "a number").template get<double>()};
            } else if (v.is_number_unsigned()) {
                s = {type, v.template get<std::uint64_t>()};
            } else {
                s = {type, integer<std::int64_t>(v)};
            }
        } else {
            j = json::array({to_string(s.type)});
            const auto real = s.template as<double>();
            if (is_floating(s.type) && real - real == 0) j.push_back(real);
            else if (is_floating(s.type)) j.push_back(hex(s.bits));
            else if (info(s.type).kind == kind::signed_integer)
                j.push_back(s.template as<std::int64_t>());
            else j.push_back(s.template as<std::uint64_t>());
        }
    }
    /// Its value, or the number of one that each run brings.
    void code_one(json& j, value<scalar_operand>& s) {
        if constexpr (reads) {
            if (j.is_array()) return code(j, s.value, "value");
            code(wanted(j.is_object() && j.contains("number") && j.contains("type"), j,
                        "a number's place")["number"],
                 s.number, "number");
            code(j["type"], s.value.type, "type");
            if (s.number < 0) fault({"has no number ", s.number});
        } else if (s.number < 0) {
            code(j, s.value, "");
        } else {
            j = {{"number", s.number}, {"type", to_string(s.value.type)}};
        }
    }
    /// The kernel's name, and what it is called with; the rest follows.
    void code_one(json& j, value<std::shared_ptr<const kernel_call>>& call) {
        if constexpr (reads) {
            wanted(j.is_object() && j.contains("kernel") && j["kernel"].is_string(), j,
                   "a call of a kernel");
            array_list<kernel_value> inputs;
            array_list<scalar> scalars;
            code(j["inputs"], inputs, "inputs");
            code(j["scalars"], scalars, "scalars");
            call = make_call(kernel_named(j["kernel"].template get<std::string>()),
                             {inputs.begin(), inputs.end()}, scalars);
        } else if (call) {
            const std::string name = call->what->unique_name();
            j = {{"kernel", name}};
            kernels[name] = digest_in_plan(call->what->text);
            const array_list<kernel_value> inputs(call->inputs.begin(), call->inputs.end());
            code(j["inputs"], inputs, "inputs");
            code(j["scalars"], call->scalars, "scalars");
        }
    }

    const op_info& op_named(std::string_view name) const {
        if (const op_info* op = ops.find(name)) return *op;
        fault({"the op `", name, "` is not in the table of ops"});
    }
    const std::shared_ptr<const custom_kernel>& kernel_named(std::string_view name) const {
        for (const std::shared_ptr<const custom_kernel>& k : names_.kernels)
            if (k->unique_name() == name) return k;
        fault({"the kernel `", name, "` is not known here; give it by ", names_.called,
               "::kernels"});
    }
    static std::string hex(std::uint64_t n) {
        std::string text;
        append_hex(text, n);
        return text;
    }

    plan_names names_;
    int depth_ = 0;     // of plans within plans
    std::string path_;  // of the value at hand
};

}}}  // namespace pumice::PUMICE_ABI::detail
