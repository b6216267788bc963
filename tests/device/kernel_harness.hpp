// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Runs single kernels on every device and compares with their problem's reference(), without the
// executor: random operands in any layout, hand-made programs, guards around every buffer.
#pragma once

#include <tests/support/samples.hpp>

#include "machine.hpp"

#include <pumice/exec/select.hpp>
#include <pumice/expr/ops.hpp>
#include <pumice/kernels/reference.hpp>

#include <doctest/doctest.h>

#include <cstdio>
#include <map>
#include <random>
#include <string>

namespace test {

/// Random numbers that do not depend on the standard library.
class dice {
public:
    explicit dice(std::uint64_t salt) : engine_(seed() * 0x9e3779b97f4a7c15u + salt) {}
    std::int64_t in(std::int64_t low, std::int64_t high) {
        return low +
               static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
    }
    double real() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
    bool chance(double p) { return real() < p; }
    std::uint64_t bits() { return engine_(); }

private:
    std::mt19937_64 engine_;
};

/// How values are drawn: `plain` are ordinary numbers, `special` mixes in NaN, infinities,
/// extremes, `finite` the same without NaN and infinities, `tiny` are integers from -4 to 4.
enum class values { plain, special, finite, tiny };

void fill(dice& d, dtype type, values how, std::byte* data, std::int64_t count);

/// How operands are laid out: `dense` is row-major without an offset, `channels_last` the same with
/// axis 1 innermost, `any` also permutes, pads, flips and offsets; for inputs it repeats axes now
/// and then.
enum class placing { dense, channels_last, any };

/// The buffers of a problem with their contents. `high` moves every offset past 2^31, so that
/// kernels index with 64 bits.
struct workspace {
    dice& random;
    bool high = false;
    std::vector<bytes> buffers;
    std::vector<std::int64_t> origins;  // byte that an offset of 0 means, from the buffer's first

    explicit workspace(dice& d, bool past_32_bits = false) : random(d), high(past_32_bits) {}
    operand input(dtype type, const shape& domain, placing where = placing::any,
                  values how = values::plain) {
        return place(type, domain, where, how, true);
    }
    operand output(dtype type, const shape& domain, placing where = placing::any) {
        return place(type, domain, where, values::plain, false);
    }
    operand iota(dtype type, const strides& steps, std::int64_t start = 0) const {
        return {-1, type, start, steps};
    }
    host_buffers host(std::vector<bytes>& memory) const;
    /// The buffers with the magnitudes of their elements, all taken to be of one floating type. A
    /// prologue of sums, products and relu gives over them the sum of what it adds and subtracts,
    /// by which its own rounding is bounded: a multiplication and an addition may become one.
    std::vector<bytes> magnitudes(dtype type) const;

private:
    operand place(dtype type, const shape& domain, placing where, values how, bool read_only);
};

/// Makes a fused program instruction by instruction.
struct maker {
    fused f;
    program body;

    std::uint16_t leaf(const operand& o) {
        f.leaves.push_back(o);
        return body.push({o.buffer < 0 ? instruction::code::iota : instruction::code::leaf, o.type,
                          static_cast<std::uint16_t>(f.leaves.size() - 1)});
    }
    std::uint16_t value(const scalar& s) {
        f.scalars.push_back(s);
        return body.push({instruction::code::scalar, s.type,
                          static_cast<std::uint16_t>(f.scalars.size() - 1)});
    }
    std::uint16_t given(dtype type) { return body.push({instruction::code::given, type, 0}); }
    std::uint16_t cast(dtype to, std::uint16_t x) {
        return body.push({instruction::code::cast, to, 0, {x}});
    }
    std::uint16_t apply(const op_info& op, std::uint16_t x, std::uint16_t y = 0,
                        std::uint16_t z = 0);
    template <class Op>
    std::uint16_t apply(std::uint16_t x, std::uint16_t y = 0, std::uint16_t z = 0) {
        return apply(op_info_of<Op>, x, y, z);
    }
    /// The canonical form; `values` are its outputs, stored at `outputs` unless that is empty.
    fused build(const std::vector<std::uint16_t>& values, array_list<operand> outputs = {}) const;
};

/// A program that only reads an operand; one that only stores what it is given.
inline fused reads(const operand& o) {
    maker m;
    return m.build({m.leaf(o)});
}
inline fused stores(dtype given, const operand& out) {
    maker m;
    return m.build({m.given(given)}, {out});
}

/// Difference that is allowed: so many units in the last place of the output's type, or an absolute
/// error by row-major number of the coordinate. Integers must agree.
struct tolerance {
    double ulps = 0;
    std::vector<double> absolute = {};
};

/// One output operand and the domain that it is stored over.
struct result {
    operand where;
    shape domain;
};

/// Compares both sets of buffers: outputs within their tolerance, all other bytes equal.
bool agree(const std::vector<bytes>& got, const std::vector<bytes>& want, const workspace& w,
           const std::vector<result>& outputs, const std::vector<tolerance>& allowed,
           const std::string& about);

/// Counts of a test, printed when it ends.
struct tally {
    std::string name;
    int ran = 0;
    std::map<std::string, int> refused;
    explicit tally(std::string what) : name(std::move(what)) {}
    ~tally() {
        std::printf("%s: seed %llu, %d cases", name.c_str(),
                    static_cast<unsigned long long>(seed()), ran);
        for (const auto& [why, n] : refused) std::printf("; %d refused: %s", n, why.c_str());
        std::printf("\n");
    }
};

/// Runs one kernel on a problem and compares with the problem's reference: in that way, or else in
/// its best, and each of the others in turn now and then. False where it does not take the problem,
/// or where they disagree (then the test has failed).
template <class Kernel>
bool check(machine& m, const typename Kernel::problem_type& p, const workspace& w,
           const std::vector<result>& outputs, const std::vector<tolerance>& allowed,
           const std::string& about, tally& count, const configuration* asked = nullptr) {
    const support s = Kernel::supports(p, m.info());
    if (!s.yes) {
        ++count.refused[std::string(Kernel::name) + ": " + s.reason];
        return false;
    }
    const configuration& way = asked ? *asked
                               : count.ran % 4 == 3
                                   ? s.ways[static_cast<std::size_t>(count.ran / 4) % s.ways.size()]
                                   : s.best();
    ++count.ran;
    const std::string name = std::string(Kernel::name) + " " + to_string(way) + " " + about;
    INFO(name);
    std::vector<bytes> got = w.buffers, want = w.buffers;
    reference(p, w.host(want));
    // The host device's own loops are held to the same bounds.
    static thread_pool threads(3);
    std::vector<bytes> native = w.buffers;
    run_on_host(p, w.host(native), threads);
    if (!agree(native, want, w, outputs, allowed, "host for " + name)) return false;
    try {
        choice c;
        detail::kernel_entry_of<Kernel>::make(c, &p, m.info(), way);
        m.run(c.launches, got, w.origins, c.scratch);
    } catch (const error& e) {
        FAIL_CHECK(name << ": " << std::string(e.what()));
        return false;
    }
    return agree(got, want, w, outputs, allowed, name);
}

/// A shape of `rank` axes with at most `most` elements, ones now and then.
shape random_shape(dice& d, int rank, std::int64_t most);

inline constexpr dtype all_dtypes[] = {
    dtype::f64, dtype::f32, dtype::f16, dtype::bf16, dtype::f8_e4m3, dtype::f8_e5m2,
    dtype::i4,  dtype::i8,  dtype::i16, dtype::i32,  dtype::i64,     dtype::u4,
    dtype::u8,  dtype::u16, dtype::u32, dtype::u64,  dtype::boolean};

}  // namespace test
