// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// How a kernel is asked to run: which Slang to specialise, its parameter block, its grid. Data
// only.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/of_engine.hpp>
#include <pumice/core/device_info.hpp>
#include <pumice/core/extent_formula.hpp>
#include <pumice/graph/own_shader.hpp>
#include <pumice/kernels/division.hpp>
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

/// A number of the parameter block that each run's extent decides.
struct varying_number {
    enum class kind { itself, factor, shift };  // of it, or of a division by it
    std::size_t at, bytes;                      // 4 or 8
    extent_formula number;
    kind what = kind::itself;

    std::int64_t of(std::int64_t extent) const {
        const std::int64_t n = number.at(extent);
        if (what == kind::itself) return n;
        const detail::division by = detail::division_by(n);
        return what == kind::factor ? by.factor : by.shift;
    }
};

/// A member of the parameter block as its table declares it (kernels/parameter_block.hpp). Where it
/// is a struct, its own members follow it.
struct block_member {
    const char* slang;      // "I count"; of the block itself, which is the first: ""
    const char* structure;  // the name of its struct, where that is a table's
    std::uint32_t at;       // bytes from the block's first
    std::uint32_t members;
};

/// A range of a buffer that a dispatch reads or writes: what hazards are tracked by.
struct access {
    int buffer;
    std::int64_t begin, end;  // bytes
    bool write;
};

/// What a shader operator sees by one of its bindings: some bytes of a buffer.
struct bound_buffer {
    int buffer;
    std::int64_t byte_offset, bytes;
    std::int64_t width = 0;  // of an image, in texels: along the last axis
    shape extent = {};       // of a tensor: of one axis at least
};

/// What a device is asked for by shader operators (exec/vulkan/own_shader.hpp): by name, so
/// that a file without them compiles none of it.
struct shader_functions;
template <int = 0>
PUMICE_OF_ENGINE const shader_functions& functions_of_shaders();

struct launch {
    std::string module, entry;  // in shaders/, or with `text` the module that is made of it
    std::shared_ptr<const std::string> text;
    /// A shader as it stands, which is given `bound` by its bindings, in their order, and the bytes
    /// of `parameters` as push constants.
    std::shared_ptr<const own_shader> shader = {};
    const shader_functions* shader_asks = nullptr;  // of one
    array_list<bound_buffer> bound = {};
    std::vector<std::string> arguments;  // specialisation, as Slang text
    array_list<std::shared_ptr<const program>>
        programs;  // generated modules that the arguments name
    array_list<std::byte> parameters;
    array_list<block_member> members;
    array_list<relocation> relocations;
    array_list<number_place> numbers;
    array_list<std::size_t> map_numbers = {};  // places of those of index maps, of 8 bytes
    array_list<varying_number> varying = {};   // of a plan for a range of extents
    array_list<access> accesses;
    std::array<std::uint32_t, 3> grid{1, 1, 1};  // workgroups
    int subgroup_size = 0;                       // required; 0: any
    int threads = 0;    // of a workgroup; 0: the kernel cannot be part of a megakernel
    bool wide = false;  // indices in the block have 8 bytes

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

/// Writes the numbers that depend on the extent into a launch's block.
inline void write_varying(const launch& l, std::int64_t extent, std::byte* block) {
    for (const varying_number& v : l.varying) {
        const std::int64_t number = v.of(extent);
        const auto narrow = static_cast<std::int32_t>(number);
        if (v.bytes == 8) std::memcpy(block + v.at, &number, 8);
        else std::memcpy(block + v.at, &narrow, 4);
    }
}

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
    if (o.format) return {o.buffer, o.format->begin_of(low), o.format->end_of(high), write};
    if (!o.map.empty()) {
        const map_range read = range_of(o.map, o.origin);
        low = read.low, high = read.high;
    }
    const std::int64_t begin = byte_offset(o.type, low), end = byte_end(o.type, high + 1);
    // Elements that share a byte are written a word at a time, the others' bits as they were.
    if (write && is_packed(o.type)) return {o.buffer, begin & ~3LL, (end + 3) & ~3LL, write};
    return {o.buffer, begin, end, write};
}

/// True where a byte range passes 2^31, so that kernels need 64-bit indices.
inline bool needs_wide_index(const array_list<operand>& operands, const shape& domain) {
    for (const operand& o : operands) {
        const access a = range_of({o.buffer, dtype::u8, o.offset, o.steps}, domain, false);
        if (a.begin < -0x7fffffffLL || a.end > 0x7fffffffLL) return true;
        const map_range read = range_of(o.map, o.origin);
        bool wide = read.low < -0x7fffffffLL || read.high > 0x7fffffffLL;
        for (const mapped_axis& each : o.map)
            wide = wide || each.extent + std::abs(each.add) + 2 * each.length > 0x7fffffffLL;
        if (wide) return true;
    }
    std::int64_t n = 1;
    for (std::int64_t d : domain)
        if ((n *= std::max<std::int64_t>(d, 1)) > 0x7e000000LL)
            return true;  // idle groups of `spread` count on
    return false;
}

}}  // namespace pumice::PUMICE_ABI
