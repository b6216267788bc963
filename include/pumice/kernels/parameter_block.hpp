// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A kernel's parameter block as a table: a row is a member of the kernel's struct in Slang, as it
// is declared there, and what stands in it. Bytes lie as in C, which Slang is told to lay out by.
#pragma once

#include <pumice/kernels/launch.hpp>

#include <cstring>

namespace pumice { inline namespace PUMICE_ABI {

/// What may stand in a row besides numbers and lists of them.
namespace block {

/// "T*": the address of a buffer, written before the dispatch; 0 without a buffer (-1).
struct address {
    int buffer;
    std::int64_t byte_offset = 0;
};
/// "P.Args": the struct that `emit` writes. The launch touches the operands over the domain, unless
/// it does not run the program.
struct arguments {
    const fused& of;
    const shape& over;
    bool runs = true;
};
/// "Places<P, I, R>" of shaders/program.slang: offsets and strides over the first axes.
struct places {
    const fused& of;
    int rank;
};
/// "Steps<P, I, R>" of shaders/rows.slang: strides over the axes from `first` on.
struct steps {
    const fused& of;
    int first, rank;
};
/// "Extents<I, R>" of shaders/element.slang: as many of a list, and 1 where it is shorter.
struct extents {
    const index_list& of;
    int rank;
    explicit extents(const index_list& list) : extents(list, list.rank()) {}
    extents(const index_list& list, int count) : of(list), rank(count) {}
};
/// As many numbers of a list, and fillers where it is shorter.
struct axes {
    const index_list& of;
    int count;
    std::int64_t filler = 0;
};
/// "float" or "double".
struct real {
    double value;
    bool is_double;
};
/// Eight bytes as they are.
struct bits {
    std::uint64_t value;
};

}  // namespace block

/// A row: "I count" and a number. A number is 4 bytes, or 8 where its type is `I` and indices are
/// wide. Refers to what it is given, so a row lives as long as the table that it is written in.
class parameter {
public:
    parameter(const char* slang, std::int64_t number)
        : slang_(slang), what_(kind::number), number_(number) {}
    parameter(const char* slang, block::real v)
        : slang_(slang), what_(v.is_double ? kind::f64 : kind::f32), value_(v.value) {}
    parameter(const char* slang, block::bits v)
        : slang_(slang), what_(kind::bits), number_(static_cast<std::int64_t>(v.value)) {}
    parameter(const char* slang, block::address v)
        : slang_(slang), what_(kind::address), count_(v.buffer), number_(v.byte_offset) {}
    parameter(const char* slang, block::axes v)
        : slang_(slang), what_(kind::axes), count_(v.count), of_(&v.of), number_(v.filler) {}
    parameter(const char* slang, block::extents v)
        : slang_(slang), what_(kind::extents), count_(v.rank), of_(&v.of) {}
    parameter(const char* slang, const index_list& list)
        : parameter(slang, block::axes{list, list.rank()}) {}
    parameter(const char* slang, const std::int64_t (&pair)[2])
        : slang_(slang), what_(kind::longs), count_(2), of_(pair) {}
    parameter(const char* slang, const int (&pair)[2])
        : slang_(slang), what_(kind::ints), count_(2), of_(pair) {}
    parameter(const char* slang, const block::arguments& v)
        : slang_(slang), what_(kind::arguments), count_(v.runs), of_(&v.of), over_(&v.over) {}
    parameter(const char* slang, block::places v)
        : slang_(slang), what_(kind::places), count_(v.rank), of_(&v.of) {}
    parameter(const char* slang, block::steps v)
        : slang_(slang), what_(kind::steps), first_(v.first), count_(v.rank), of_(&v.of) {}
    /// A struct of Slang's, by its name and its rows.
    parameter(const char* slang, const char* structure, std::initializer_list<parameter> rows)
        : parameter(slang, structure, rows.begin(), rows.size()) {}
    parameter(const char* slang, const char* structure, const parameter (&rows)[3])
        : parameter(slang, structure, rows, 3) {}
    parameter(const char* slang, const char* structure, const parameter (&rows)[4])
        : parameter(slang, structure, rows, 4) {}

private:
    friend class parameter_block;
    enum class kind : std::uint8_t {
        number,
        f32,
        f64,
        bits,
        address,
        axes,
        lengths,
        factors,
        shifts,
        extents,
        longs,
        ints,
        arguments,
        offset_list,
        stride_list,
        places,
        steps,
        table
    };
    parameter(const char* slang, const char* structure, const parameter* rows, std::size_t count)
        : slang_(slang), what_(kind::table), count_(static_cast<int>(count)), of_(rows),
          over_(structure) {}
    parameter(const char* slang, kind what, const parameter& p)
        : slang_(slang), what_(what), first_(p.first_), count_(p.count_), of_(p.of_) {}

    const char* slang_;
    kind what_;
    int first_ = 0, count_ = 0;
    const void* of_ = nullptr;
    const void* over_ = nullptr;
    union {
        std::int64_t number_ = 0;
        double value_;
    };
};

/// The rows of a struct that several members are.
struct three_parameters {
    parameter row[3];
};
struct four_parameters {
    parameter row[4];
};

/// Writes the rows of tables into a launch's parameter block, one after the other.
class parameter_block {
public:
    /// `structure`: the name of the kernel's struct. `text`, where it is made with the launch, gets
    /// the struct's members.
    parameter_block(launch& l, bool wide, const char* structure, std::string* text = nullptr)
        : out_(l), wide_(wide), text_(text) {
        l.parameters.reserve(256);
        l.members.reserve(24);
        l.wide = wide;
        l.members.push_back({"", structure, 0, 0});
    }
    void add(std::initializer_list<parameter> rows) {
        if (text_)
            for (const parameter& p : rows) append_text(*text_, {"    public ", p.slang_, ";\n"});
        write(rows.begin(), rows.size(), 0);
    }
    /// Of the rows that follow.
    void indices(bool wide) noexcept { wide_ = wide; }

private:
    using kind = parameter::kind;

    [[gnu::noinline]] void write(const parameter* rows, std::size_t count, std::size_t owner) {
        out_.members[owner].members += static_cast<std::uint32_t>(count);
        for (const parameter *p = rows, *end = rows + count; p != end; ++p) {
            align(alignment(*p));
            const bool known = !text_ || owner != 0;  // otherwise the text may not outlive the row
            out_.members.push_back({known ? p->slang_ : "", nullptr,
                                    static_cast<std::uint32_t>(out_.parameters.size()), 0});
            write(*p);
        }
    }
    void write(const parameter& p) {
        const auto* program = static_cast<const fused*>(p.of_);
        const std::size_t bytes = number_bytes(p);
        switch (p.what_) {
            case kind::number: return number(p.number_, bytes);
            case kind::f32: return real(static_cast<float>(p.value_));
            case kind::f64: return append(&p.value_, 8);
            case kind::bits: return append(&p.number_, 8);
            case kind::address: return address(p.count_, p.number_);
            case kind::axes: {
                const auto& list = *static_cast<const index_list*>(p.of_);
                for (int i = 0; i < p.count_; ++i)
                    number(i < list.rank() ? list[i] : p.number_, bytes);
                return;
            }
            case kind::lengths:
            case kind::factors:
            case kind::shifts: {
                const auto& list = *static_cast<const index_list*>(p.of_);
                for (int i = 0; i < p.count_; ++i) {
                    const std::int64_t length = i < list.rank() ? list[i] : 1;
                    const detail::division by = detail::division_by(length);
                    number(p.what_ == kind::lengths   ? length
                           : p.what_ == kind::factors ? by.factor
                                                      : by.shift,
                           bytes);
                }
                return;
            }
            case kind::extents: {
                const parameter rows[] = {{"I length[R]", kind::lengths, p},
                                          {"uint factor[R]", kind::factors, p},
                                          {"uint shift[R]", kind::shifts, p}};
                return structure("Extents", rows, 3);
            }
            case kind::longs:
                for (int i = 0; i < p.count_; ++i)
                    number(static_cast<const std::int64_t*>(p.of_)[i], bytes);
                return;
            case kind::ints:
                for (int i = 0; i < p.count_; ++i) number(static_cast<const int*>(p.of_)[i], bytes);
                return;
            case kind::arguments: return arguments(*program, p.count_ ? p.over_ : nullptr);
            case kind::offset_list:
                for (std::size_t k = 0; k < operand_count(*program); ++k)
                    number(operand_of(*program, k).offset, bytes);
                return;
            case kind::stride_list:
                for (std::size_t k = 0; k < operand_count(*program); ++k) {
                    const strides& steps = operand_of(*program, k).steps;
                    for (int i = p.first_; i < p.first_ + p.count_; ++i)
                        number(i < steps.rank() ? steps[i] : 0, bytes);
                }
                return;
            case kind::places: {
                const parameter rows[] = {{"I base[P.operands]", kind::offset_list, p},
                                          {"I step[P.operands * R]", kind::stride_list, p}};
                return structure("Places", rows, 2);
            }
            case kind::steps: {
                const parameter row{"I step[P.operands * R]", kind::stride_list, p};
                return structure("Steps", &row, 1);
            }
            case kind::table:
                structure(static_cast<const char*>(p.over_), static_cast<const parameter*>(p.of_),
                          static_cast<std::size_t>(p.count_));
                align(alignment(p));
        }
    }
    void structure(const char* name, const parameter* rows, std::size_t count) {
        const std::size_t owner = out_.members.size() - 1;
        out_.members[owner].structure = name;
        write(rows, count, owner);
    }

    static bool is_index(const parameter& p) noexcept {
        return p.slang_[0] == 'I' && p.slang_[1] == ' ';
    }
    std::size_t number_bytes(const parameter& p) const noexcept {
        return is_index(p) && wide_ ? 8 : 4;
    }
    std::size_t alignment(const parameter& p) const noexcept {
        switch (p.what_) {
            case kind::f64:
            case kind::bits:
            case kind::address:
            case kind::arguments: return 8;
            case kind::extents:
            case kind::places:
            case kind::steps: return wide_ ? 8 : 4;
            case kind::table: {
                std::size_t most = 4;
                const auto* rows = static_cast<const parameter*>(p.of_);
                for (int i = 0; i < p.count_; ++i) most = std::max(most, alignment(rows[i]));
                return most;
            }
            default: return number_bytes(p);
        }
    }

    /// A program's operands as it numbers them: leaves, then outputs, of which a prologue's go
    /// nowhere.
    static std::size_t operand_count(const fused& f) {
        return f.leaves.size() + f.body->outputs.size();
    }
    static const operand& operand_of(const fused& f, std::size_t k) {
        static const operand nowhere{};
        if (k < f.leaves.size()) return f.leaves[k];
        k -= f.leaves.size();
        return k < f.outputs.size() ? f.outputs[k] : nowhere;
    }
    void arguments(const fused& f, const void* domain) {
        const auto* over = static_cast<const shape*>(domain);
        const std::size_t at = out_.parameters.size();
        each_argument(f.body->view(), [&](const program_argument& a) {
            const auto n = static_cast<std::size_t>(a.index);
            if (a.what == program_argument::number) {
                const scalar_operand& s = f.scalars[n];
                if (s.number >= 0) out_.numbers.push_back({out_.parameters.size(), s.number});
                return append(&s.value.bits, 8);
            }
            if (a.what == program_argument::map) return map(f.leaves[n]);
            const bool written = a.what == program_argument::written;
            if (written && n >= f.outputs.size()) return address(-1, 0);
            const operand& o = written ? f.outputs[n] : f.leaves[n];
            address(o.buffer, 0);
            if (over) out_.accesses.push_back(range_of(o, *over, written));
        });
        if (out_.parameters.size() == at) address(-1, 0);
    }
    /// As the emitter names the numbers: the origin, then four for each axis, the last one first.
    void map(const operand& o) {
        for (std::size_t k = 0; k <= 4 * o.map.size(); ++k)
            out_.map_numbers.push_back(out_.parameters.size() + 8 * k);
        append(&o.origin, 8);
        for (std::size_t k = o.map.size(); k-- > 0;)
            for (const std::int64_t v :
                 {o.map[k].extent, o.map[k].add, o.map[k].length, o.map[k].step})
                append(&v, 8);
    }
    void address(int buffer, std::int64_t byte_offset) {
        if (buffer != -1) out_.relocations.push_back({out_.parameters.size(), buffer, byte_offset});
        const std::uint64_t later = 0;
        append(&later, 8);
    }
    void real(float v) { append(&v, 4); }
    void number(std::int64_t v, std::size_t bytes) {
        const auto narrow = static_cast<std::int32_t>(v);
        if (bytes == 8) append(&v, 8);
        else append(&narrow, 4);
    }
    [[gnu::noinline]] void append(const void* data, std::size_t bytes) {
        const std::size_t at = out_.parameters.size();
        out_.parameters.resize(at + bytes);
        std::memcpy(out_.parameters.data() + at, data, bytes);
    }
    void align(std::size_t to) {
        out_.parameters.resize((out_.parameters.size() + to - 1) / to * to);
    }

    launch& out_;
    bool wide_;
    std::string* text_;
};

/// A block that one table says as a whole.
inline void write_block(launch& l, bool wide, const char* structure,
                        std::initializer_list<parameter> rows, std::string* text = nullptr) {
    parameter_block(l, wide, structure, text).add(rows);
}

}}  // namespace pumice::PUMICE_ABI
