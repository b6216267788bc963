// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// How a kernel is asked to run: which Slang to specialise, its parameter block, its grid. Data
// only.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/core/device_info.hpp>
#include <pumice/kernels/problem.hpp>

#include <cstring>

namespace pumice { inline namespace PUMICE_ABI {

/// A place in the parameter block where the address of a buffer is written before the dispatch.
struct relocation {
    std::size_t at;
    int buffer;
    std::int64_t byte_offset;
};

/// A place in the parameter block where a number of the run is written before the dispatch.
struct number_place {
    std::size_t at;
    int number;  // see scalar_operand
};

/// A range of a buffer that a dispatch reads or writes: what hazards are tracked by.
struct access {
    int buffer;
    std::int64_t begin, end;  // bytes
    bool write;
};

struct launch {
    std::string module, entry;  // in shaders/, or with `text` the module that is made of it
    std::shared_ptr<const std::string> text;
    std::vector<std::string> arguments;  // specialisation, as Slang text
    array_list<std::shared_ptr<const program>>
        programs;  // generated modules that the arguments name
    array_list<std::byte> parameters;
    array_list<relocation> relocations;
    array_list<number_place> numbers;
    array_list<access> accesses;
    std::array<std::uint32_t, 3> grid{1, 1, 1};  // workgroups
    int subgroup_size = 0;                       // required; 0: any

    launch() = default;
    [[gnu::noinline]] launch(std::string_view in, std::string_view start,
                             std::initializer_list<piece> with,
                             std::initializer_list<const fused*> running)
        : module(in), entry(start) {
        specialise(with);
        for (const fused* f : running) programs.push_back(f->body);
    }
    /// Adds arguments.
    [[gnu::noinline]] void specialise(std::initializer_list<piece> with) {
        for (const piece& p : with) arguments.push_back(cat({p}));
    }
};

/// One of the ways in which a kernel can solve a problem.
struct configuration {
    std::array<int, 4> sizes{};  // the kernel's own, of tiles or of cuts; 0 where it has fewer
    double seconds = 0;          // expected on the device
};

/// "128x128x64"; empty for a kernel that has one way.
inline std::string to_string(const configuration& c) {
    std::string text;
    for (const int n : c.sizes)
        if (n != 0) append_text(text, {text.empty() ? "" : "x", n});
    return text;
}

/// A kernel's answer to a problem: yes, in these ways, or no with the reason.
struct support {
    bool yes = true;
    std::string reason = {};
    array_list<configuration> ways = {};  // one at least in a kernel's answer

    static support no(std::initializer_list<piece> why) { return {false, cat(why)}; }
    static support no(const char* why) { return {false, why}; }
    /// In one way, which takes so long.
    static support in(double seconds) { return {true, {}, {{{}, seconds}}}; }

    /// The way that takes least. Pre: there is one.
    const configuration& best() const {
        const configuration* least = &ways[0];
        for (const configuration& c : ways)
            if (c.seconds < least->seconds) least = &c;
        return *least;
    }
};

/// Bytes [begin, end) of its buffer that an operand touches over `domain`.
inline access range_of(const operand& o, const shape& domain, bool write) {
    std::int64_t low = o.offset, high = o.offset;
    for (int i = 0; i < domain.rank(); ++i) {
        if (domain[i] == 0) return {o.buffer, 0, 0, write};
        const std::int64_t reach = o.steps[i] * (domain[i] - 1);
        (reach < 0 ? low : high) += reach;
    }
    const std::int64_t bytes = info(o.type).bits / 8;
    return {o.buffer, low * bytes, (high + 1) * bytes, write};
}

/// Writes a parameter block field by field, as the C layout of the Slang struct lays them out.
class block_writer {
public:
    block_writer(launch& out, bool wide) : out_(out), wide_(wide) {}

    /// A signed index: 4 bytes, or 8 when the kernel's index type is 64-bit.
    void index(std::int64_t v) {
        if (wide_) bytes(&v, 8, 8);
        else {
            const auto narrow = static_cast<std::int32_t>(v);
            bytes(&narrow, 4, 4);
        }
    }
    void integer(std::int32_t v) { bytes(&v, 4, 4); }
    void real(float v) { bytes(&v, 4, 4); }
    void real(double v) { bytes(&v, 8, 8); }

    /// The Args struct that `emit` writes: leaf and output addresses, then scalars.
    void args(const fused& f, const shape& domain) {
        align(8);
        bool used = false;
        for (const instruction& i : f.body->code)
            if (i.what == instruction::code::leaf) {
                const operand& o = f.leaves[i.index];
                address(o.buffer, 0);
                out_.accesses.push_back(range_of(o, domain, false));
                used = true;
            }
        for (std::size_t k = 0; k < f.body->outputs.size(); ++k, used = true) {
            if (k < f.outputs.size()) {
                address(f.outputs[k].buffer, 0);
                out_.accesses.push_back(range_of(f.outputs[k], domain, true));
            } else {
                const std::uint64_t none = 0;
                bytes(&none, 8, 8);
            }
        }
        array_list<const scalar_operand*> order;
        for (const instruction& i : f.body->code)
            if (i.what == instruction::code::scalar) order.push_back(&f.scalars[i.index]);
        for (const scalar_operand* s : order) {
            if (s->number >= 0) out_.numbers.push_back({out_.parameters.size(), s->number});
            bytes(&s->value.bits, 8, 8);
            used = true;
        }
        if (!used) {
            const std::uint64_t none = 0;
            bytes(&none, 8, 8);
        }
    }

    /// Offsets of the operands (leaves, then outputs), in elements.
    void offsets(const fused& f) {
        align(wide_ ? 8 : 4);
        for (const operand& o : f.leaves) index(o.offset);
        for (std::size_t k = 0; k < f.body->outputs.size(); ++k)
            index(k < f.outputs.size() ? f.outputs[k].offset : 0);
    }
    /// Strides, operand by operand, `rank` each.
    void strides_of(const fused& f, int rank) {
        for (const operand& o : f.leaves) row(o.steps, rank);
        for (std::size_t k = 0; k < f.body->outputs.size(); ++k)
            row(k < f.outputs.size() ? f.outputs[k].steps : strides::filled(rank, 0), rank);
    }
    [[gnu::noinline]] void row(const index_list& list, int rank) {
        for (int i = 0; i < rank; ++i) index(i < list.rank() ? list[i] : 0);
    }
    [[gnu::noinline]] void address(int buffer, std::int64_t byte_offset) {
        align(8);
        out_.relocations.push_back({out_.parameters.size(), buffer, byte_offset});
        const std::uint64_t none = 0;
        bytes(&none, 8, 8);
    }
    [[gnu::noinline]] void align(std::size_t to) {
        out_.parameters.resize((out_.parameters.size() + to - 1) / to * to);
    }

private:
    [[gnu::noinline]] void bytes(const void* data, std::size_t n, std::size_t alignment) {
        align(alignment);
        const std::size_t at = out_.parameters.size();
        out_.parameters.resize(at + n);
        std::memcpy(out_.parameters.data() + at, data, n);
    }

    launch& out_;
    bool wide_;
};

/// True where a byte range passes 2^31, so that kernels need 64-bit indices.
inline bool needs_wide_index(const array_list<operand>& operands, const shape& domain) {
    for (const operand& o : operands) {
        const access a = range_of({o.buffer, dtype::u8, o.offset, o.steps}, domain, false);
        if (a.begin < -0x7fffffffLL || a.end > 0x7fffffffLL) return true;
    }
    std::int64_t n = 1;
    for (std::int64_t d : domain)
        if ((n *= std::max<std::int64_t>(d, 1)) > 0x7e000000LL)
            return true;  // idle groups of `spread` count on
    return false;
}

}}  // namespace pumice::PUMICE_ABI
