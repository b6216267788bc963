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
    constexpr int threads() const noexcept { return m / tm * (n / tn); }
    /// Latencies that a step along k takes at least: of two buffers one fills while one is read.
    constexpr double wait() const noexcept { return buffers == 1 ? 1.2 : 0.5; }
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
    double speed;  // the same
    constexpr int subgroups() const noexcept { return m / wm * (n / wn); }
    constexpr double wait() const noexcept { return 1; }  // as above
    /// Whichever way the factors lie, and for a line of sums.
    constexpr std::int64_t shared(const fragments& of, int fragment_m) const noexcept {
        const int lanes = of.lanes(), deep = k * of.deeper();
        const std::int64_t left = std::max(m * (deep / lanes + 1), deep * (m / lanes + 1)),
                           right = std::max(n * (deep / lanes + 1), deep * (n / lanes + 1));
        return 16 * std::max<std::int64_t>(of.parts * (left + right),
                                           static_cast<std::int64_t>(subgroups()) * fragment_m *
                                               (wn / of.sums() + 1));
    }
    constexpr bool sound() const noexcept {
        const auto power = [](int v) { return v > 0 && (v & (v - 1)) == 0; };
        return power(m) && power(n) && power(k) && power(wm) && power(wn) && wm <= m && wn <= n &&
               k >= 8 && m >= 8 && n >= 8 && std::max({m, n / 2, k}) <= product::side;
    }
};

template <class Row, std::size_t N>
consteval std::array<Row, N> checked(std::array<Row, N> rows) {
    for (const Row& r : rows)
        if (!r.sound()) throw "a tile does not divide";
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
inline constexpr auto matrix_tiles = checked(std::array<matrix_tile, 12>{{
    //  m    n   k   wm  wn  speed
    { 128, 256, 32, 128, 64, 1.10},  // of sums in 16 bits, which no others leave room for
    { 128, 128, 64,  64, 64, 1.00},
    { 128, 128, 32,  64, 64, 0.84},
    { 128,  64, 64,  64, 32, 0.72},
    {  64,  64, 64,  32, 32, 0.52},
    {  64,  64, 32,  32, 32, 0.46},
    {  32,  64, 64,  16, 32, 0.36},
    {  16, 128, 64,  16, 32, 0.17},
    {  16,  64, 64,  16, 16, 0.18},
    {  32,  32, 32,  16, 16, 0.22},
    {  32,  32, 16,  16, 16, 0.13},
    {  32,  32,  8,  16, 16, 0.08},
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

/// Expected of a product that moves `bytes`, by tiles of m x n at `rate` operations a second of a
/// full device: where they are fewer than keep it busy, each has its part of the device all the
/// same, and half as much again where it shares a processor with none; each step along k, of
/// `depth`, waits for so many latencies. Each tile computes its factors' prologues and, by plain
/// arithmetic, where its windows are.
inline double tile_seconds(const product& p, double bytes, int m, int n, int depth, double rate,
                           double access, double wait, const device_rates& rates) {
    const std::int64_t groups = (p.m + m - 1) / m * ((p.n + n - 1) / n) * element_count(p.batch);
    const double full = static_cast<double>(groups) / rates.groups,
                 rounds = full <= 0.5 ? 2.0 / 3 : std::max(1.0, full),
                 sums = 2.0 * m * n * static_cast<double>(p.k);
    const double prologues =
        static_cast<double>(p.k) * (m * prologue_work(p.left, access) +
                                    n * (prologue_work(p.right, access) + (p.gathers() ? 160 : 0)));
    return rates.launch + 4 * rates.latency +
           std::max(rounds * rates.groups * (sums / rate + prologues / rates.arithmetic),
                    std::hypot(static_cast<double>(p.k) / depth * wait * rates.latency,
                               bytes / rates.bandwidth));
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
                              tile_seconds(p, bytes, r.m, r.n, r.k * deeper, r.speed * rate, access,
                                           r.wait(), rates)});
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
