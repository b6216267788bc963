// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// THE emitter: a canonical program in, the Slang text of its functor out. The text is a function of
// the program alone; shaders/program.slang states the interface that it implements.
#pragma once

#include <pumice/base/error.hpp>
#include <pumice/base/fixed_string.hpp>
#include <pumice/expr/emit_map.hpp>
#include <pumice/expr/program.hpp>

#include <string>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

constexpr bool is_identifier(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
constexpr bool is_name(std::string_view text) noexcept {
    for (const char c : text)
        if (!is_identifier(c)) return false;
    return !text.empty() && !(text[0] >= '0' && text[0] <= '9');
}

/// Writes the text of one program; `Text` is std::string or fixed_string.
template <class Text>
class emitter {
public:
    constexpr emitter(Text& out, program_view p)
        : out_(out), p_(p), leaves_(p.leaves()), map_(out) {}

    constexpr void run() {
        line("import element;");
        formats();
        if (has(code::mapped)) line("import index_map;");
        if (calls_math()) line("import math;");
        line("import program;");
        header();
        out_.append("{\n");
        each(code::mapped, [&](const instruction& i) { map_.type(i.index, i.map); });
        args();
        inputs();
        load();
        load_run();
        eval();
        store();
        out_.append("}\n");
    }

    /// "p_" and the key: the name of the struct and of its module.
    static constexpr void name(Text& out, program_view p) {
        out.append("p_");
        append_hex(out, key_of(p));
    }

private:
    using code = instruction::code;

    [[gnu::noinline]] constexpr void line(std::string_view text) {
        out_.append(text);
        out_.append("\n");
    }
    [[gnu::noinline]] constexpr void item(std::string_view prefix, int number) {
        out_.append(prefix);
        append_number(out_, static_cast<std::uint64_t>(number));
    }
    constexpr std::string_view element(dtype t) const { return info(t).slang; }
    constexpr std::string_view arith(dtype t) const { return slang_name(info(t).arithmetic); }
    constexpr const instruction& at(std::size_t i) const { return p_.code[i]; }
    constexpr const instruction& output(std::size_t i) const { return p_.code[p_.outputs[i]]; }

    template <class F>
    constexpr void each(code what, F&& f) {
        for (const instruction& i : p_.code)
            if (i.what == what) f(i);
    }

    constexpr bool has(code what) const {
        for (const instruction& i : p_.code)
            if (i.what == what) return true;
        return false;
    }
    constexpr map_leaf map_leaf_of(const instruction& i) const {
        return {i.index, i.map, element(i.type), arith(i.type)};
    }

    /// Where the loaders of coded leaves come from.
    constexpr void formats() {
        bool imported = false;
        each(code::coded, [&](const instruction& i) {
            if (i.format->text.empty()) {
                if (!imported) line("import format;");
                imported = true;
                return;
            }
            for (const instruction& before : p_.code) {
                if (&before == &i) break;
                if (before.what != code::coded || before.format->name != i.format->name) continue;
                if (before.format->text != i.format->text ||
                    before.format->slang != i.format->slang)
                    fail(errc::invalid_argument, "format",
                         {"two storage formats are named ", i.format->name,
                          ", and their Slang differs; formats of one name are one format"});
                return;
            }
            line(i.format->text);
        });
    }

    /// Whether shaders/math/float_half.slang has a shorter form of a function.
    static constexpr bool has_half_form(std::string_view function) {
        for (const std::string_view one :
             {"pm_exp", "pm_exp2", "pm_log", "pm_sigmoid", "pm_tanh", "pm_erf", "pm_gelu"})
            if (function == one) return true;
        return false;
    }
    constexpr bool calls_math() const {
        for (const instruction& i : p_.code)
            if (i.what == code::apply && i.op->body.find("pm_") != std::string_view::npos)
                return true;
        return false;
    }

    constexpr void header() {
        out_.append("// ");
        bool first = true;
        for (const instruction& i : p_.code) {
            if (i.arity() == 0) continue;
            if (!first) out_.append(", ");
            out_.append(i.what == code::cast ? std::string_view("cast") : i.op->name);
            first = false;
        }
        if (first) out_.append("copy");
        out_.append("\npublic struct ");
        name(out_, p_);
        out_.append(" : IProgram\n");
    }

    /// The arguments as they lie in the parameter block: addresses and scalars in 8-byte slots.
    constexpr void args() {
        line("    public struct Args");
        line("    {");
        bool any = false;
        each_argument(p_, [&](const program_argument& a) {
            any = true;
            if (a.what == program_argument::map) {
                item("        public M", a.index);
                item(" m", a.index);
                return line(";");
            }
            if (a.what != program_argument::number)
                return pointer(a.what == program_argument::read ? "x" : "y", a.index, a.type);
            out_.append("        public ").append(arith(a.type));
            item(" s", a.index);
            const arithmetic as = info(a.type).arithmetic;
            if (as != arithmetic::f64 && as != arithmetic::i64 && as != arithmetic::u64)
                item("; public uint s_", a.index);
            line(";");
        });
        if (!any) line("        public uint2 unused;");
        line("    };");
        out_.append("    public static const int leaves = ");
        append_number(out_, static_cast<std::uint64_t>(leaves_));
        out_.append(";\n    public static const int operands = ");
        append_number(out_, static_cast<std::uint64_t>(leaves_) + p_.outputs.size());
        out_.append(";\n");
        out_.append("    public typealias Value = ").append(arith(output(0).type)).append(";\n");
        std::string_view given = "float";
        each(code::given, [&](const instruction& i) { given = arith(i.type); });
        const bool pair = p_.givens() == 2;
        out_.append("    public typealias Given = ").append(pair ? "Pair<" : "").append(given);
        out_.append(pair ? ">;\n" : ";\n");
    }
    constexpr void pointer(std::string_view prefix, int number, dtype type) {
        out_.append("        public ").append(element(type)).append(".Storage* ");
        item(prefix, number);
        line(";");
    }

    constexpr void inputs() {
        line("    public struct In");
        line("    {");
        if (leaves_ == 0) line("        public int none;");
        leaf_list([&](const instruction& i) {
            out_.append("        public ").append(arith(i.type));
            item(i.what == code::inside ? " w" : " x", i.index);
            line(";");
        });
        line("    };");
        line("    public struct Out");
        line("    {");
        for (std::size_t k = 0; k < p_.outputs.size(); ++k) {
            out_.append("        public ").append(arith(output(k).type));
            item(" y", int(k));
            line(";");
        }
        line("    };");
    }
    template <class F>
    constexpr void leaf_list(F&& f) {
        for (const instruction& i : p_.code)
            if (i.is_leaf() || i.what == code::iota || i.what == code::inside) f(i);
    }

    constexpr void load() {
        line("    public static In load<I : IIndex>(Args a, I o[operands])");
        line("    {");
        line("        In v;");
        if (leaves_ == 0) line("        v.none = 0;");
        leaf_list([&](const instruction& i) {
            if (i.what == code::inside) return;
            if (i.what == code::mapped) return map_.load(map_leaf_of(i));
            item("        v.x", i.index);
            out_.append(" = ");
            read(i);
            line(";");
        });
        each(code::inside, [&](const instruction& i) {
            item("        v.w", i.index);
            item(" = w", i.index);
            line(";");
        });
        line("        return v;");
        line("    }");
    }
    /// What has the element's `load`, or `from` for an iota.
    constexpr std::string_view loader(const instruction& i) const {
        return i.format ? i.format->slang : element(i.type);
    }
    constexpr void read(const instruction& i) {
        out_.append(loader(i));
        if (i.what == code::iota) {
            item(".from(o[", i.index);
            out_.append("].toInt64())");
        } else {
            item(".load(a.x", i.index);
            item(", o[", i.index);
            out_.append("])");
        }
    }

    /// W elements along the innermost axis; bit k of Flat says that leaf k is contiguous there,
    /// otherwise it is one value for all of them.
    constexpr void load_run() {
        line(
            "    public static void loadRun<I : IIndex, let W : int, let Flat : int>(Args a, I "
            "o[operands], out In v[W])");
        line("    {");
        leaf_list([&](const instruction& i) {
            if (i.what == code::inside) return;
            out_.append("        ").append(arith(i.type));
            item(" x", i.index);
            line("[W];");
            if (i.what == code::mapped) return map_.load_run(map_leaf_of(i));
            const bool iota = i.what == code::iota;
            if (iota) {
                item("        [ForceUnroll] for (int k = 0; k < W; ++k) x", i.index);
                out_.append("[k] = ").append(element(i.type));
                item(".from(o[", i.index);
                item("].toInt64() + ((Flat & ", 1 << i.index);
                line(") != 0 ? int64_t(k) : 0LL));");
                return;
            }
            item("        if ((Flat & ", 1 << i.index);
            out_.append(") != 0) ").append(loader(i));
            item(".loadRun<I, W>(a.x", i.index);
            item(", o[", i.index);
            item("], x", i.index);
            out_.append("); else fill<").append(arith(i.type)).append(", W>(");
            read(i);
            item(", x", i.index);
            line(");");
        });
        line("        [ForceUnroll] for (int k = 0; k < W; ++k)");
        line("        {");
        if (leaves_ == 0) line("            v[k].none = 0;");
        leaf_list([&](const instruction& i) {
            const bool asks = i.what == code::inside;
            item(asks ? "            v[k].w" : "            v[k].x", i.index);
            item(asks ? " = w" : " = x", i.index);
            line("[k];");
        });
        line("        }");
        line("    }");
    }

    constexpr void eval() {
        line("    public static Out eval(Args a, In v, Given g)");
        line("    {");
        for (std::size_t n = 0; n < p_.code.size(); ++n) {
            const instruction& i = p_.code[n];
            if (i.arity() == 0) continue;
            out_.append("        ").append(arith(i.type));
            item(" t", ordinal(n));
            out_.append(" = ");
            const bool narrow = info(i.type).bits < 32 && info(i.type).kind != kind::floating &&
                                info(i.type).kind != kind::boolean;
            if (i.what == code::cast) {
                out_.append(element(i.type)).append(".from(");
                value(i.args[0]);
                out_.append(")");
            } else {
                if (narrow) out_.append(element(i.type)).append(".wrap(");
                body(i);
                if (narrow) out_.append(")");
            }
            line(";");
        }
        line("        Out r;");
        for (std::size_t k = 0; k < p_.outputs.size(); ++k) {
            item("        r.y", int(k));
            out_.append(" = ");
            value(p_.outputs[k]);
            line(";");
        }
        line("        return r;");
        line("    }");
        line("    public static Value first(Out r) { return r.y0; }");
    }
    constexpr void value(std::uint16_t n) {
        const instruction& i = p_.code[n];
        switch (i.what) {
            case code::leaf:
            case code::coded:
            case code::mapped:
            case code::iota: item("v.x", i.index); break;
            case code::inside: item("v.w", i.index); break;
            case code::scalar: item("a.s", i.index); break;
            case code::given:
                out_.append(p_.givens() < 2 ? "g" : i.index == 0 ? "g.first" : "g.second");
                break;
            default: item("t", ordinal(n));
        }
    }
    /// Temporaries count ops only, so that inserting an operand renames nothing.
    constexpr int ordinal(std::size_t n) const {
        int count = 0;
        for (std::size_t k = 0; k < n; ++k) count += p_.code[k].arity() > 0;
        return count;
    }
    /// The op's body with its operands' names and the arithmetic type put in.
    constexpr void body(const instruction& i) {
        const std::string_view text = i.op->body;
        const dtype operand = p_.code[i.args[i.op->arity - 1]].type;
        for (std::size_t k = 0; k < text.size();) {
            if (!is_identifier(text[k])) {
                out_.push_back(text[k++]);
                continue;
            }
            std::size_t end = k;
            bool real = false;
            while (end < text.size() && (is_identifier(text[end]) ||
                                         (text[end] == '.' && text[k] >= '0' && text[k] <= '9')))
                real |= text[end++] == '.';
            const std::string_view word = text.substr(k, end - k);
            if (word == "x" || word == "y" || word == "z") value(i.args[word[0] - 'x']);
            else if (word == "T") out_.append(arith(operand));
            else if (info(operand).arithmetic == arithmetic::f32 && info(operand).bits <= 16 &&
                     has_half_form(word))
                out_.append("pm_half_").append(word.substr(3));
            else out_.append(word);
            if (real) out_.append(info(operand).arithmetic == arithmetic::f64 ? "lf" : "f");
            k = end;
        }
    }

    constexpr void store() {
        line("    public static void store<I : IIndex>(Args a, I o[operands], Out r)");
        line("    {");
        for (std::size_t k = 0; k < p_.outputs.size(); ++k) {
            out_.append("        ").append(element(output(k).type));
            item(".store(a.y", int(k));
            item(", o[", leaves_ + int(k));
            item("], r.y", int(k));
            line(");");
        }
        line("    }");
        line(
            "    public static void storeRun<I : IIndex, let W : int>(Args a, I o[operands], Out "
            "r[W])");
        line("    {");
        for (std::size_t k = 0; k < p_.outputs.size(); ++k) {
            out_.append("        ").append(arith(output(k).type));
            item(" y", int(k));
            item("[W];\n        [ForceUnroll] for (int k = 0; k < W; ++k) y", int(k));
            item("[k] = r[k].y", int(k));
            out_.append(";\n        ").append(element(output(k).type));
            item(".storeRun<I, W>(a.y", int(k));
            item(", o[", leaves_ + int(k));
            item("], y", int(k));
            line(");");
        }
        line("    }");
    }

    Text& out_;
    program_view p_;
    int leaves_;
    map_emitter<Text> map_;
};

}  // namespace detail

/// The Slang text of a canonical program.
template <class Text>
constexpr Text emit(program_view p) {
    Text text;
    detail::emitter<Text>(text, p).run();
    return text;
}
PUMICE_FUNCTION std::string emit(program_view p);

/// The name of the struct and module that `emit` writes.
PUMICE_FUNCTION std::string emitted_name(program_view p);

#ifndef PUMICE_COMPILED

PUMICE_BODY std::string emit(program_view p) { return emit<std::string>(p); }
PUMICE_BODY std::string emitted_name(program_view p) {
    std::string text;
    detail::emitter<std::string>::name(text, p);
    return text;
}

#endif

}}  // namespace pumice::PUMICE_ABI
