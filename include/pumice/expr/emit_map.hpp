// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What the emitter writes of leaves that are read by an index map (shaders/index_map.slang).
#pragma once

#include <pumice/base/fixed_string.hpp>

#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

/// A word of text, or a number.
struct word {
    std::string_view text;
    int number = -1;
    constexpr word(std::string_view t) : text(t) {}
    constexpr word(const char* t) : text(t) {}
    constexpr word(int n) : number(n) {}
};

/// A mapped leaf: its number, form and Slang types.
struct map_leaf {
    int number;
    std::uint32_t form;
    std::string_view element, arithmetic;
};

template <class Text>
class map_emitter {
public:
    constexpr explicit map_emitter(Text& out) : out_(out) {}

    /// The type of a leaf's map, with its numbers: the origin, then extent, add, length and step of
    /// each axis, the last one first.
    constexpr void type(int leaf, std::uint32_t form) {
        int count = 0;
        for (std::uint32_t rest = form; rest != 0; rest >>= 4) ++count;
        add({"    public struct M", leaf, " : IIndexMap\n    {\n        public uint2 m[",
             1 + 4 * count, "];\n"});
        add(
            {"        public I length<I : IIndex>() { return at<I>(m[1]); }\n"
             "        public bool dense() { return all(m[4] == uint2(1u, 0u)); }\n"
             "        public I row<I : IIndex>(I i, out I along)\n        {\n"});
        add({count == 1
                 ? "            along = i;\n            return I(0);\n"
                 : "            I r = i / at<I>(m[1]);\n            along = i - r * at<I>(m[1]);\n"
                   "            return r;\n"});
        add(
            {"        }\n        public I element<I : IIndex>(I i, inout bool within)\n"
             "        {\n            return "});
        index(form, 0);
        add(
            {";\n        }\n        public I start<I : IIndex>(I row, inout bool within)\n"
             "        {\n            I o = at<I>(m[0]), i = row;\n"});
        for (int k = 1; k < count; ++k) {
            const int extent = 1 + 4 * k;
            if (k + 1 < count)
                add({"            I r", k, " = i / at<I>(m[", extent, "]);\n            i = i - r",
                     k, " * at<I>(m[", extent, "]);\n"});
            add({"            o = o + "});
            index(form, k);
            add({";\n"});
            if (k + 1 < count) add({"            i = r", k, ";\n"});
        }
        add({"            return o;\n        }\n    };\n"});
    }
    /// Its element, as `v.x`, and whether there is one.
    constexpr void load(const map_leaf& l) {
        add({"        bool w", l.number, ";\n"});
        place(l, "        I i", "w");
        add({"        v.x", l.number, " = "});
        element(l, "i", "w", "");
        add({";\n"});
    }
    /// A run of it; what lies as a run is loaded as one.
    constexpr void load_run(const map_leaf& l) {
        add({"        bool w", l.number, "[W];\n        if ((Flat & ", 1 << l.number, ") != 0)\n"});
        add({"        {\n            I i",
             l.number,
             "[W];\n            if (placesOf<I, M",
             l.number,
             ", W>(a.m",
             l.number,
             ", o[",
             l.number,
             "], i",
             l.number,
             ", w",
             l.number,
             ")) ",
             l.element,
             ".loadRun<I, W>(a.x",
             l.number,
             ", i",
             l.number,
             "[0], x",
             l.number,
             ");\n"});
        add({"            else [ForceUnroll] for (int k = 0; k < W; ++k) x", l.number, "[k] = "});
        element(l, "i", "w", "[k]");
        add({";\n        }\n        else\n        {\n            bool b", l.number, ";\n"});
        place(l, "            I j", "b");
        add({"            fill<", l.arithmetic, ", W>("});
        element(l, "j", "b", "");
        add({", x", l.number, ");\n            fill<bool, W>(b", l.number, ", w", l.number,
             ");\n        }\n"});
    }

private:
    constexpr void place(const map_leaf& l, std::string_view index, std::string_view within) {
        add({index, l.number, " = placeOf<I, M", l.number, ">(a.m", l.number, ", o[", l.number,
             "], ", within, l.number, ");\n"});
    }
    /// What is not there is not read: there may be no memory.
    constexpr void element(const map_leaf& l, std::string_view index, std::string_view within,
                           std::string_view at) {
        if (hides(l.form)) add({within, l.number, at, " ? "});
        add({l.element, ".load(a.x", l.number, ", ", index, l.number, at, ")"});
        if (hides(l.form)) add({" : ", l.arithmetic, "(0)"});
    }
    static constexpr bool hides(std::uint32_t form) {
        for (; form != 0; form >>= 4)
            if ((form & 15) == 5) return true;
        return false;
    }
    [[gnu::noinline]] constexpr void add(std::initializer_list<word> list) {
        for (const word& w : list) {
            if (w.number < 0) out_.append(w.text);
            else append_number(out_, static_cast<std::uint64_t>(w.number));
        }
    }
    /// How far `i` along the k-th axis from the last lies behind that axis's first element.
    constexpr void index(std::uint32_t form, int k) {
        constexpr std::string_view folds[] = {"around", "edge", "mirror", "inside"};
        const std::uint32_t digit = form >> (4 * k) & 15;
        if (digit == 1) add({"i"});
        else
            add({folds[digit - 2], "<I>(i + at<I>(m[", 4 * k + 2, "]), at<I>(m[", 4 * k + 3,
                 digit == 5 ? "]), within)" : "]))"});
        add({" * at<I>(m[", 4 * k + 4, "])"});
    }

    Text& out_;
};

}}}  // namespace pumice::PUMICE_ABI::detail
