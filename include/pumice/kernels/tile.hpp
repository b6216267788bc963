// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Products in tiles (shaders/matmul.slang): sizes of tiles, the way each factor is read, the
// launch.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/callback.hpp>
#include <pumice/kernels/collapse.hpp>
#include <pumice/kernels/launch.hpp>
#include <pumice/kernels/reference.hpp>

#include <bit>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

/// epilogue(sum over k of left * right): matrix product or convolution, as the staged loop sees it.
struct product {
    shape batch;  // at least one axis
    std::int64_t m = 0, n = 0, k = 0;
    shape columns, depth;  // the axes that n and k stand for, one at least
    fused left, right;     // over batch ++ {m} ++ depth, batch ++ {n} ++ depth
    fused epilogue;        // over batch ++ {m} ++ columns
    arithmetic sum = arithmetic::f32;
};

/// How a factor is read: see Matrix in shaders/tile_load.slang.
struct reading {
    enum : int {
        vectors_along_k,
        vectors_along_rows,
        elements_along_k,
        elements_along_rows
    } way = elements_along_k;
    std::uint32_t flat = 0;                        // leaves that are contiguous in the vector
    enum : int { no, aligned, ragged } bare = no;  // 16-bit elements that need no program
    constexpr bool chunk_along_k() const noexcept {
        return way == vectors_along_k || way == elements_along_rows;
    }
};

/// A tile of sums in registers, per workgroup and per invocation (shaders/tile_math.slang,
/// Registers).
struct register_tile {
    int m, n, k, tm, tn;
    double speed;  // of a full device, relative to the best row
    constexpr int threads() const noexcept { return m / tm * (n / tn); }
    constexpr std::int64_t shared(int element) const noexcept {
        return static_cast<std::int64_t>(k) * (m + n + 8) * element;
    }
    constexpr bool sound() const noexcept {
        const auto power = [](int v) { return v > 0 && (v & (v - 1)) == 0; };
        return power(m) && power(n) && power(k) && power(tm) && power(tn) && tm >= 4 && tn >= 4 &&
               tm <= m && tn <= n && k >= 4 && threads() <= 1024 && tm * tn <= 128;
    }
};

/// A tile of fragments, per workgroup and per subgroup (Matrices).
struct matrix_tile {
    int m, n, k, wm, wn;
    double speed;
    constexpr int subgroups() const noexcept { return m / wm * (n / wn); }
    /// Whichever way the factors lie, and for a line of sums.
    constexpr std::int64_t shared(int fragment_m) const noexcept {
        const std::int64_t left = std::max(m * (k / 8 + 1), k * (m / 8 + 1)),
                           right = std::max(n * (k / 8 + 1), k * (n / 8 + 1));
        return 16 * std::max<std::int64_t>(left + right, static_cast<std::int64_t>(subgroups()) *
                                                             fragment_m * (wn / 4 + 1));
    }
    constexpr bool sound() const noexcept {
        const auto power = [](int v) { return v > 0 && (v & (v - 1)) == 0; };
        return power(m) && power(n) && power(k) && power(wm) && power(wn) && wm <= m && wn <= n &&
               k >= 8 && m >= 8 && n >= 8;
    }
};

template <class Row, std::size_t N>
consteval std::array<Row, N> checked(std::array<Row, N> rows) {
    for (const Row& r : rows)
        if (!r.sound()) throw "a tile does not divide";
    return rows;
}

// clang-format off
inline constexpr auto register_tiles = checked(std::array<register_tile, 5>{{
    //  m    n   k  tm  tn  speed
    { 128, 128, 16, 16,  8, 1.00},
    {  64,  64, 16,  8,  4, 0.65},
    {  32,  64, 16,  4,  4, 0.45},
    {  32,  32, 16,  4,  4, 0.30},
    {  16,  64, 16,  4,  4, 0.25},
}});
inline constexpr auto matrix_tiles = checked(std::array<matrix_tile, 6>{{
    //  m    n   k  wm  wn  speed
    { 128, 128, 64, 64, 64, 1.00},
    { 128, 128, 32, 64, 64, 0.90},
    {  64,  64, 32, 32, 32, 0.60},
    {  32,  32, 32, 16, 16, 0.30},
    {  32,  32, 16, 16, 16, 0.20},
    {  32,  32,  8, 16, 16, 0.10},
}});
// clang-format on

/// Workgroups that a device runs at a time, as far as choosing tiles is concerned.
inline constexpr std::int64_t busy_groups = 256;

/// Rounds of workgroups times the sums of a tile, by speed: what a tile costs.
inline double tile_cost(const product& p, int m, int n, double speed) {
    const std::int64_t groups = (p.m + m - 1) / m * ((p.n + n - 1) / n) * element_count(p.batch);
    const double rounds =
        std::max(1.0, static_cast<double>(groups) / static_cast<double>(busy_groups));
    return rounds * m * n / speed;
}

/// The cheapest row that `fits`; null when none does.
template <class Row, std::size_t N, class Fits>
const Row* cheapest(const std::array<Row, N>& rows, const product& p, Fits&& fits) {
    const Row* best = nullptr;
    for (const Row& r : rows)
        if (fits(r) && (!best || tile_cost(p, r.m, r.n, r.speed) <
                                     tile_cost(p, best->m, best->n, best->speed)))
            best = &r;
    return best;
}

/// The best way to read a factor of `rows` rows in chunks of `lanes` values.
inline reading reading_of(const fused& f, const shape& batch, std::int64_t rows, const shape& depth,
                          int lanes) {
    const int row = batch.rank(), inner = row + depth.rank();
    shape along_k = batch, along_rows = batch;
    along_k.push_back(rows);
    for (std::int64_t d : depth) along_k.push_back(d), along_rows.push_back(d);
    along_rows.push_back(rows);
    fused turned = f;
    for (operand* o : operands_of(turned)) {
        const std::int64_t step = o->steps[row];
        o->steps.erase(row);
        o->steps.push_back(step);
    }
    const auto mask_of = [&](const fused& g, const shape& domain) {
        return domain.back() % lanes == 0 ? vector_mask(g, domain) : std::optional<std::uint32_t>();
    };
    const std::optional<std::uint32_t> k = mask_of(f, along_k), r = mask_of(turned, along_rows);
    if (k && (!r || std::popcount(*k) >= std::popcount(*r))) return {reading::vectors_along_k, *k};
    if (r) return {reading::vectors_along_rows, *r};
    int nearer = 0;  // leaves whose neighbours in k are nearer than those in rows
    for (const operand& o : f.leaves)
        nearer += std::abs(o.steps[inner]) <= std::abs(o.steps[row]) ? 1 : -1;
    return {nearer >= 0 ? reading::elements_along_k : reading::elements_along_rows};
}

/// The same for chunks of eight 16-bit elements, which a mere copy of memory can skip the program
/// for.
inline reading packed_reading(const fused& f, const shape& batch, std::int64_t rows,
                              const shape& depth, dtype type) {
    reading way = reading_of(f, batch, rows, depth, 8);
    const operand* o = f.body->code.size() == 1 && f.leaves.size() == 1 ? &f.leaves[0] : nullptr;
    if (!o || o->buffer < 0 || o->type != type || depth.rank() != 1) return way;
    const int row = batch.rank();
    if (way.flat != 1 || way.way > reading::vectors_along_rows) {
        if (o->steps[row + 1] == 1) return {reading::vectors_along_k, 0, reading::ragged};
        if (o->steps[row] == 1) return {reading::vectors_along_rows, 0, reading::ragged};
        return way;
    }
    bool aligned = o->offset % 8 == 0;
    for (int i = 0; i < row; ++i) aligned = aligned && (batch[i] == 1 || o->steps[i] % 8 == 0);
    if (way.way == reading::vectors_along_k)
        aligned = aligned && (rows == 1 || o->steps[row] % 8 == 0);
    else aligned = aligned && (depth[0] == 1 || o->steps[row + 1] % 8 == 0);
    way.bare = aligned ? reading::aligned : reading::ragged;
    return way;
}

inline shape operator+(shape a, const shape& b) {
    for (std::int64_t d : b) a.push_back(d);
    return a;
}
inline shape operator+(shape a, std::int64_t d) {
    a.push_back(d);
    return a;
}

/// Whether a program's operands over `domain` need 64-bit indices.
inline bool is_wide(fused f, const shape& domain) {
    array_list<operand> all;
    for (const operand* o : operands_of(f)) all.push_back(*o);
    return needs_wide_index(all, domain);
}
inline bool is_wide(const product& p) {
    return std::max({p.m, p.n, p.k}) > (1 << 30) || is_wide(p.left, p.batch + p.m + p.depth) ||
           is_wide(p.epilogue, p.batch + p.m + p.columns);
}
inline bool is_wide_matrix(const product& p) {
    return is_wide(p) || is_wide(p.right, p.batch + p.n + p.depth);
}

inline std::string_view bool_text(bool v) { return v ? "true" : "false"; }

/// The Slang type of a loader for `f`, and its parameters.
inline std::string loader_type(const fused& f, const reading& way, const std::string& chunk,
                               const std::string& half, bool wide, int batch, int depth) {
    const std::string index = index_type(wide);
    if (way.bare)
        return cat({way.bare == reading::ragged ? "Ragged<" : "Bare<", half, ",", index, ",", batch,
                    ",", bool_text(way.chunk_along_k()), ">"});
    return cat({"Matrix<", emitted_name(f.body->view()), ",", index, ",", chunk, ",", batch, ",",
                depth, ",", static_cast<int>(way.way), ",", way.flat, ">"});
}

/// Args, Places over `domain`, extents of the last `last` axes.
inline void write_program(block_writer& w, const fused& f, const shape& domain, int last) {
    w.args(f, domain);
    w.offsets(f);
    w.strides_of(f, domain.rank());
    for (int i = domain.rank() - last; i < domain.rank(); ++i) w.index(domain[i]);
    w.align(8);
}

inline void write_loader(block_writer& w, launch& l, const fused& f, const reading& way,
                         const shape& domain, int depth) {
    if (!way.bare) return write_program(w, f, domain, depth);
    const operand& o = f.leaves[0];
    l.accesses.push_back(range_of(o, domain, false));
    if (way.bare == reading::ragged) w.index((l.accesses.back().end - 1) / 16);
    w.address(o.buffer, 0);
    w.index(o.offset);
    w.row(o.steps, domain.rank());
    w.align(8);
}

/// A tile as the launch needs it.
struct core_choice {
    std::string chunk, half;  // Slang types; half is empty for plain arithmetic
    int m = 0, n = 0, lanes = 4, subgroup_size = 0;
    std::string type;          // of the core, without the end
    bool asks_layout = false;  // whether it ends with how the factors lie in shared memory
};

/// A right factor that is not a plain matrix: its Slang type and its parameters.
struct special_loader {
    std::string type;
    bool along_k = true;  // how its chunks lie
    callback<void(block_writer&)> write;
};

/// How an epilogue may store four elements at once, as the kernels' argument; -1: it may not.
inline int flat_store(const fused& epilogue, const shape& result) {
    const std::optional<std::uint32_t> flat =
        result.back() % 4 == 0 ? vector_mask(epilogue, result) : std::nullopt;
    return flat ? static_cast<int>(*flat) : -1;
}

/// Tile rows that are walked together, so that neighbouring workgroups share both factors' memory.
inline constexpr std::uint32_t band = 8;

inline launch staged_launch(const product& p, const core_choice& core, const device_info& device,
                            bool wide, const special_loader* right = nullptr) {
    const int batch = p.batch.rank(), columns = p.columns.rank(), depth = p.depth.rank();
    const auto way_of = [&](const fused& f, std::int64_t rows) {
        return core.half.empty() ? reading_of(f, p.batch, rows, p.depth, core.lanes)
                                 : packed_reading(f, p.batch, rows, p.depth,
                                                  core.half == "Half" ? dtype::f16 : dtype::bf16);
    };
    const reading a = way_of(p.left, p.m), b = right ? reading{} : way_of(p.right, p.n);
    const shape result = p.batch + p.m + p.columns;
    std::string type = core.type;
    if (core.asks_layout)
        append_text(type, {",", bool_text(a.chunk_along_k()), ",",
                           bool_text(right ? right->along_k : b.chunk_along_k())});
    launch l("matmul", "staged",
             {index_type(wide), batch, columns, flat_store(p.epilogue, result),
              emitted_name(p.epilogue.body->view()), cat({type, ">"}),
              loader_type(p.left, a, core.chunk, core.half, wide, batch, depth),
              right ? right->type
                    : loader_type(p.right, b, core.chunk, core.half, wide, batch, depth)},
             {&p.epilogue});
    if (!a.bare) l.programs.push_back(p.left.body);
    if (!b.bare) l.programs.push_back(p.right.body);
    l.subgroup_size = core.subgroup_size;

    const std::int64_t down = (p.m + core.m - 1) / core.m, across = (p.n + core.n - 1) / core.n;
    const std::int64_t tiles = down * across * element_count(p.batch);
    if (tiles > 0xffffffffLL)
        fail(errc::size_overflow, "kernels", {"the product has ", tiles, " tiles"});
    const std::uint32_t width = spread(l, tiles, device);
    block_writer w(l, wide);
    write_loader(w, l, p.left, a, p.batch + p.m + p.depth, depth);
    if (right) right->write(w);
    else write_loader(w, l, p.right, b, p.batch + p.n + p.depth, depth);
    write_program(w, p.epilogue, result, columns);
    w.row(p.batch, batch);
    w.index(p.m);
    w.index(p.n);
    w.index(p.k);
    for (const std::uint32_t v :
         {static_cast<std::uint32_t>(down), static_cast<std::uint32_t>(across), band,
          static_cast<std::uint32_t>(tiles), width})
        w.integer(static_cast<std::int32_t>(v));
    w.align(8);
    return l;
}

// Plain arithmetic --------------------------------------------------------------------------------

inline const register_tile* register_tile_for(const product& p, const device_info& device) {
    return cheapest(register_tiles, p, [&](const register_tile& t) {
        return t.shared(size_of(p.sum)) <= device.shared_memory &&
               t.threads() <= device.max_workgroup_invocations &&
               t.tm * t.tn * size_of(p.sum) <= 512;
    });
}

inline core_choice register_core(const product& p, const register_tile& t) {
    const std::string sum(slang_name(p.sum));
    core_choice c;
    c.chunk = cat({"Plain<", sum, ">"});
    c.m = t.m;
    c.n = t.n;
    c.type = cat({"Registers<", sum});
    for (int v : {t.m, t.n, t.k, t.tm, t.tn}) append_text(c.type, {",", v});
    return c;
}

/// Yes with the cost of plain arithmetic.
inline support supports_registers(const product& p, const device_info& device) {
    const register_tile* t = register_tile_for(p, device);
    if (!t)
        return support::no({"no tile fits in ", device.shared_memory,
                            " bytes of shared memory and ", device.max_workgroup_invocations,
                            " invocations"});
    support s;
    s.cost = tile_cost(p, t->m, t->n, t->speed) * size_of(p.sum) / 4;
    return s;
}

// Cooperative matrices ----------------------------------------------------------------------------

/// Cooperative matrices against plain arithmetic in f32, where both do their best.
inline constexpr double matrix_speed = 7;

/// The device's largest fragments that multiply `type` and sum in f32; null when it has none.
inline const matrix_shape* fragment_for(dtype type, const device_info& device) {
    const matrix_shape* best = nullptr;
    for (const matrix_shape& s : device.matrix_shapes)
        if (s.a == type && s.b == type && s.c == dtype::f32 && s.result == dtype::f32 &&
            s.m % 8 == 0 && s.n % 8 == 0 && s.k % 8 == 0 &&
            (!best || s.m * s.n * s.k > best->m * best->n * best->k))
            best = &s;
    return best;
}

inline const matrix_tile* matrix_tile_for(const product& p, const matrix_shape& f,
                                          const device_info& device) {
    // A driver on the CPU gains nothing from many fragments and takes a minute to compile them.
    const bool few = device.type == device_type::cpu;
    const int sums = few ? 4 * f.m * f.n : 128 * device.subgroup_size, depth = few ? f.k : 64;
    return cheapest(matrix_tiles, p, [&](const matrix_tile& t) {
        return t.wm % f.m == 0 && t.wn % f.n == 0 && t.k % f.k == 0 && t.wm * t.wn <= sums &&
               t.k <= depth && t.shared(f.m) <= device.shared_memory &&
               t.subgroups() * device.subgroup_size <= device.max_workgroup_invocations;
    });
}

inline core_choice matrix_core(const matrix_tile& t, const matrix_shape& f,
                               const device_info& device) {
    core_choice c;
    c.half = f.a == dtype::f16 ? "Half" : "Bfloat";
    c.chunk = cat({"Packed<", c.half, ">"});
    c.m = t.m;
    c.n = t.n;
    c.lanes = 8;
    c.subgroup_size = device.subgroup_size;
    c.type = cat({"Matrices<", c.half});
    for (int v : {t.m, t.n, t.k, t.wm, t.wn, f.m, f.n, f.k, device.subgroup_size})
        append_text(c.type, {",", v});
    c.asks_layout = true;
    return c;
}

/// Yes with the cost of cooperative matrices over values of types a and b.
inline support supports_matrices(const product& p, dtype a, dtype b, const device_info& device) {
    if (a != b || (a != dtype::f16 && a != dtype::bf16))
        return support::no({"cooperative matrices multiply f16 or bf16, not ", to_string(a),
                            (a == b ? "" : " with " + std::string(to_string(b)))});
    const std::string type(to_string(a));
    if (!device.cooperative_matrix)
        return support::no("needs cooperative matrices; the device has none");
    if (!device.memory_model)
        return support::no("needs the Vulkan memory model; the device lacks it");
    if (!device.subgroup_size_control)
        return support::no("needs subgroups of a fixed size; the device cannot promise it");
    if (a == dtype::f16 ? !device.float16_arithmetic : !device.bfloat16)
        return support::no({"needs ", type, " in shaders; the device lacks it"});
    const matrix_shape* f = fragment_for(a, device);
    if (!f)
        return support::no({"needs cooperative ", type,
                            " matrices with sums in f32; the device lists none"});
    const matrix_tile* t = matrix_tile_for(p, *f, device);
    if (!t)
        return support::no({"no tile of ", f->m, "x", f->n, "x", f->k, " fragments fits in ",
                            device.shared_memory, " bytes of shared memory and ",
                            device.max_workgroup_invocations, " invocations"});
    support s;
    s.cost = tile_cost(p, t->m, t->n, t->speed) / matrix_speed;
    return s;
}

inline core_choice matrix_core_for(const product& p, dtype type, const device_info& device) {
    const matrix_shape& f = *fragment_for(type, device);
    return matrix_core(*matrix_tile_for(p, f, device), f, device);
}

// What both take ----------------------------------------------------------------------------------

/// No, naming what the device lacks for one of the programs.
inline support supports_programs(std::initializer_list<const fused*> programs,
                                 const device_info& device) {
    for (const fused* f : programs)
        if (support s = supports_types(*f, device); !s.yes) return s;
    return {};
}

/// The type in which products of values of types a and b are summed; empty where they differ.
inline std::optional<arithmetic> sum_of(dtype a, dtype b) {
    const arithmetic x = info(a).arithmetic, y = info(b).arithmetic;
    if (x != y || x == arithmetic::boolean) return std::nullopt;
    return x;
}

}}}  // namespace pumice::PUMICE_ABI::detail
