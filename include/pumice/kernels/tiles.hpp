// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Sizes of the tiles in which products are computed, and how long they take.
#pragma once

#include <pumice/kernels/fragments.hpp>
#include <pumice/kernels/product.hpp>

#include <cmath>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

/// A tile of sums in registers, per workgroup and per invocation (shaders/tile_math.slang,
/// Registers).
struct register_tile {
    int m, n, k, tm, tn;
    int buffers;   // staged tiles in shared memory
    int steps;     // of k that are written out
    double speed;  // the share of the device's rate that it reaches
    static constexpr int slices = 1;
    constexpr int threads() const noexcept { return m / tm * (n / tn); }
    /// Latencies that a step along k takes at least.
    constexpr double wait() const noexcept { return 0.4; }
    /// Tiles that a device has at a time, as multiples of device_rates::groups.
    constexpr double together() const noexcept { return 1; }
    /// Sums of an invocation.
    constexpr int own_sums() const noexcept { return tm * tn; }
    constexpr std::int64_t shared(int element) const noexcept {
        return static_cast<std::int64_t>(buffers) * k * (m + n + 8) * element;
    }
    constexpr bool sound() const noexcept {
        const auto power = [](int v) { return v > 0 && (v & (v - 1)) == 0; };
        return power(m) && power(n) && power(k) && power(tm) && power(tn) && tm >= 4 && tn >= 4 &&
               tm <= m && tn <= n && k >= 4 && threads() <= 1024 && tm * tn <= 128 &&
               (buffers == 1 || buffers == 2) && steps > 0 && k % steps == 0;
    }
};

/// A tile of fragments, per workgroup and per subgroup (Matrices), its depth in elements of 16
/// bits.
struct matrix_tile {
    int m, n, k, wm, wn;
    int slices;    // of k: more than one are a subgroup each with sums of the whole tile, for a
                   // product of so few columns that it has one line of tiles (`narrow`)
    double speed;  // the same
    /// Latencies as above: slices wait for memory alone, and for nobody else.
    constexpr double wait() const noexcept { return slices == 1 ? 0.2 : 0.7; }
    /// As above: those of slices are small.
    constexpr double together() const noexcept { return slices == 1 ? 1 : 12.0 / slices; }
    constexpr int subgroups() const noexcept { return m / wm * (n / wn) * slices; }
    /// Sums of an invocation, where a subgroup has the usual 32.
    constexpr int own_sums() const noexcept { return wm * wn / 32; }
    /// Whichever way the factors lie, and for a line of sums, or for all of a slice.
    constexpr std::int64_t shared(const fragments& of, int fragment_m) const noexcept {
        const int lanes = of.lanes(), deep = k * of.deeper();
        const std::int64_t left = std::max(m * (deep / lanes + 1), deep * (m / lanes + 1)),
                           right = std::max(n * (deep / lanes + 1), deep * (n / lanes + 1)),
                           lines = slices > 1 ? m : subgroups() * fragment_m;
        return std::int64_t{16} * slices *
               std::max<std::int64_t>(of.parts * (left + right), lines * (wn / of.sums() + 1));
    }
    constexpr bool sound() const noexcept {
        const auto power = [](int v) { return v > 0 && (v & (v - 1)) == 0; };
        return power(m) && power(n) && power(k) && power(wm) && power(wn) && power(slices) &&
               wm <= m && wn <= n && k >= 8 && m >= 8 && n >= 8 &&
               std::max({m, n / 2, k}) <= product::side && (slices == 1 || (wm == m && wn == n));
    }
};

template <class Row, std::size_t N>
consteval std::array<Row, N> checked(std::array<Row, N> rows) {
    for (std::size_t i = 0; i < N; ++i) {
        if (!rows[i].sound()) throw "a tile does not divide: see sound() of its struct";
        for (std::size_t j = 0; j < i; ++j)
            if (rows[i].m == rows[j].m && rows[i].n == rows[j].n && rows[i].k == rows[j].k)
                throw "two rows have one m, n and k, which name a tile";
    }
    return rows;
}

// clang-format off
inline constexpr auto register_tiles = checked(std::array<register_tile, 6>{{
    //  m    n   k  tm  tn buffers steps speed
    { 128, 128,  8, 16,  8, 2,  8, 1.00},
    {  64,  64, 16,  8,  4, 2, 16, 0.89},
    {  32,  64, 16,  4,  4, 1,  1, 0.66},
    {  32,  32, 16,  4,  4, 1,  1, 0.60},
    {  16,  64, 16,  4,  4, 1,  1, 0.58},
    {  64,  16, 16,  4,  4, 1,  1, 0.52},
}});
inline constexpr auto matrix_tiles = checked(std::array<matrix_tile, 18>{{
    //  m    n   k   wm  wn slices speed
    { 128, 256, 32, 128, 64, 1, 1.10},  // of sums in 16 bits, which no others leave room for
    { 128, 128, 64,  64, 64, 1, 1.00},
    { 128, 128, 32,  64, 64, 1, 0.84},
    { 128,  64, 64,  64, 32, 1, 0.72},
    {  64,  64, 64,  32, 32, 1, 0.52},
    {  64,  64, 32,  32, 32, 1, 0.46},
    {  32,  64, 64,  16, 32, 1, 0.36},
    {  16, 128, 64,  16, 32, 1, 0.17},
    {  16,  64, 64,  16, 16, 1, 0.18},
    {  32,  32, 32,  16, 16, 1, 0.22},
    {  32,  32, 16,  16, 16, 1, 0.13},
    {  32,  32,  8,  16, 16, 1, 0.08},
    {  64,   8, 16,  64,  8, 8, 0.60},  // a left factor along its rows
    {  64,  16, 16,  64, 16, 8, 0.60},
    {  32,   8, 64,  32,  8, 4, 0.60},  // along k
    {  16,   8, 64,  16,  8, 4, 0.50},
    {  16,  16, 64,  16, 16, 4, 0.50},
    {   8,   8,  8,   8,  8, 4, 0.10},
}});
// clang-format on

/// What it takes to compute a factor's element as it is read, in plain operations, where reading
/// one of its operands takes `access`; of one that is read as it lies it is part of a tile's rate.
inline double prologue_work(const fused& f, double access) {
    double parts = 0, maps = 0;
    for (const instruction& i : f.body->code) {
        parts += i.is_leaf() || i.arity() > 0;
        maps += i.what == instruction::code::mapped;
    }
    if ((f.body->code.size() == 1 && maps == 0) || copied_leaf(f)) return 0;
    constexpr double map = 8;  // what it takes more to find an element by an index map
    parts += map * maps;
    return access * parts;
}

/// Expected of a product that moves `bytes`, by a table's tile, `depth` elements deep, at `rate`
/// operations a second of a full device. Where tiles are fewer than keep it busy, each has its part
/// of the device all the same, and two thirds as much again where it shares a processor with none.
/// Each round of tiles waits at its steps along k and joins its slices; an invocation's sums are
/// cleared and stored. Each tile computes its factors' prologues and, by plain arithmetic, where
/// its windows are.
template <class Row>
double tile_seconds(const product& p, double bytes, const Row& t, int depth, double rate,
                    double access, const device_rates& rates) {
    const std::int64_t groups =
        (p.m + t.m - 1) / t.m * ((p.n + t.n - 1) / t.n) * element_count(p.batch);
    const double full = static_cast<double>(groups) / rates.groups,
                 busy = full <= 0.5 ? 0.6 : std::max(1.0, full),
                 rounds = std::max(1.0, full / t.together()),
                 sums = 2.0 * t.m * t.n * static_cast<double>(p.k), k = static_cast<double>(p.k);
    const double prologues =
        k * (t.m * prologue_work(p.left, access) + t.n * prologue_work(p.right, access) +
             (p.gathers() ? (p.windows_left ? t.m : t.n) * p.window_work : 0));
    const double computing = busy * rates.groups * (sums / rate + prologues / rates.arithmetic),
                 waiting = rounds * k / (depth * t.slices) * t.wait() * rates.latency,
                 moving = bytes / rates.bandwidth;
    // Near the crossing each holds up the others.
    return rates.launch + (2.25 + 0.25 * rounds * t.slices + 0.05 * t.own_sums()) * rates.latency +
           std::hypot(computing, waiting, moving);
}

/// Those rows that `fit`, as configurations of a kernel. `access`: see prologue_work. Depths are
/// `deeper` times those of the rows.
template <class Row, std::size_t N, class Fits>
support tile_ways(const std::array<Row, N>& rows, const product& p, double rate, double access,
                  const device_rates& rates, Fits&& fits, int deeper = 1) {
    support s;
    const double bytes = bytes_of(p);
    for (const Row& r : rows)
        if (fits(r))
            s.ways.push_back({{r.m, r.n, r.k * deeper},
                              tile_seconds(p, bytes, r, r.k * deeper, r.speed * rate, access,
                                           rates)});
    s.yes = !s.ways.empty();
    return s;
}

/// The row of a configuration.
template <class Row, std::size_t N>
const Row& row_of(const std::array<Row, N>& rows, const configuration& way, int deeper = 1) {
    std::size_t i = 0;
    while (way.sizes[0] != rows[i].m || way.sizes[1] != rows[i].n ||
           way.sizes[2] != rows[i].k * deeper)
        ++i;
    return rows[i];
}

}}}  // namespace pumice::PUMICE_ABI::detail
