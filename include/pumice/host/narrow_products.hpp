// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Products of few rows or columns, or of short sums, on the host: lines of the long factor times
// single numbers of the other one, read where they lie. To pack either takes longer than that.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/thread_cache.hpp>
#include <pumice/base/thread_pool.hpp>
#include <pumice/host/lanes.hpp>
#include <pumice/host/matrix_parts.hpp>

#include <algorithm>

namespace pumice { inline namespace PUMICE_ABI { namespace detail {

/// Rows, columns or lengths of sums up to which a product is narrow.
inline constexpr std::int64_t most_narrow = 32;
/// Values that are added up plainly: all products sum such pieces, from the first on.
inline constexpr std::int64_t tile_depth = 256;

/// What is at hand of a matrix, in a cache.
template <class T>
inline constexpr std::int64_t some_numbers = (1 << 15) / sizeof(T);

/// sums[j][i] = the sum of a[l][i] * b[l][j], from the first l on: vectors of lines, four at a
/// time.
template <class T>
struct add_products {
    std::int64_t lanes, others, depth;  // i, j, l
    std::int64_t a_step, b_steps[2], sums_step;

    template <int Count>
    [[gnu::always_inline]] void lines(const T* a, const T* b, T* sums) const {
        constexpr std::int64_t width = lanes_of<T>::count;
        T by[std::size_t{Count}];
        for (int c = 0; c < Count; ++c) by[c] = b[c * b_steps[0]];
        std::int64_t i = 0;
        for (; i + width <= lanes; i += width) {
            typename lanes_of<T>::vector sum = lanes_at(sums + i);
#pragma GCC unroll 4
            for (int c = 0; c < Count; ++c) sum += lanes_at(a + c * a_step + i) * by[c];
            lanes_at(sums + i) = sum;
        }
        for (; i < lanes; ++i) {
            T sum = sums[i];
#pragma GCC unroll 4
            for (int c = 0; c < Count; ++c) sum += a[c * a_step + i] * by[c];
            sums[i] = sum;
        }
    }
    [[gnu::always_inline]] void operator()(const T* a, const T* b, T* sums) const {
        for (std::int64_t j = 0; j < others; ++j, b += b_steps[1], sums += sums_step) {
            for (std::int64_t i = 0; i < lanes; ++i) sums[i] = 0;
            std::int64_t l = 0;
            for (; l + 4 <= depth; l += 4) lines<4>(a + l * a_step, b + l * b_steps[0], sums);
            for (; l < depth; ++l) lines<1>(a + l * a_step, b + l * b_steps[0], sums);
        }
    }
};

/// The same of one column, of rows that are no lines: four sums at a time stay in registers.
template <class T>
struct add_rows {
    std::int64_t rows, depth, a_steps[2], b_step;

    template <int Count>
    [[gnu::always_inline]] void some(const T* a, const T* b, T* sums) const {
        T sum[std::size_t{Count}] = {};
        for (std::int64_t l = 0; l < depth; ++l, a += a_steps[1], b += b_step)
#pragma GCC unroll 4
            for (int c = 0; c < Count; ++c) sum[c] += a[c * a_steps[0]] * *b;
        for (int c = 0; c < Count; ++c) sums[c] = sum[c];
    }
    [[gnu::always_inline]] void operator()(const T* a, const T* b, T* sums) const {
        std::int64_t i = 0;
        for (; i + 4 <= rows; i += 4) some<4>(a + i * a_steps[0], b, sums + i);
        for (; i < rows; ++i) some<1>(a + i * a_steps[0], b, sums + i);
    }
};

/// A narrow product with `lane` as the axis of its result along which vectors go.
template <class T, std::same_as<matmul_problem> P>
class narrow_product {
public:
    narrow_product(const P& p, const host_buffers& buffers)
        : p_(p), buffers_(buffers), left_(leaf_alone<T>(p.a)), right_(leaf_alone<T>(p.b)),
          out_(result_alone<T>(p.epilogue)), lane_(lane_of(p)), lanes_(lane_ == 0 ? p.m : p.n),
          others_(lane_ == 0 ? p.n : p.m) {
        const operand* const lines = lane_ == 0 ? left_ : right_;
        const std::int64_t depth = std::min(p.k, tile_depth);
        in_lines_ = lanes_ == 1 || !lines || lines->steps[p.batch.rank() + lane_] == 1;
        width_ = some_numbers<T> / std::max(std::min(others_, most_narrow), in_lines_ ? 1 : depth);
        width_ = std::min(lanes_, std::clamp<std::int64_t>(width_, 32, 2048));
        height_ = std::min(others_, std::max<std::int64_t>(some_numbers<T> / width_, 1));
        across_ = (lanes_ + width_ - 1) / width_;
        down_ = (others_ + height_ - 1) / height_;
        blocks_ = element_count(p.batch) * across_ * down_;
    }

    void run(const thread_pool& threads) const {
        const std::int64_t pieces = (p_.k + tile_depth - 1) / tile_depth,
                           size = width_ * height_,  // of a block
            work = (width_ + 1) * (height_ + 1) * std::min(p_.k, tile_depth);
        const std::int64_t share = std::max<std::int64_t>(1, thread_part / work);
        if (blocks_ == 1 && pieces > 1 && size <= 2048) {  // threads take pieces of the sums
            array_list<T> room(static_cast<std::size_t>(pieces * size));
            T* const found = room.data();
            threads.run((pieces + share - 1) / share, parts_for_a_thread(share * work),
                        [&](std::int64_t part) {
                            block one(*this);
                            const std::int64_t end = std::min((part + 1) * share, pieces);
                            for (std::int64_t i = part * share; i < end; ++i)
                                one.piece(i * tile_depth, found + i * size, width_);
                        });
            for (std::int64_t i = 1; i < pieces; ++i)
                for (std::int64_t k = 0; k < size; ++k) found[k] += found[i * size + k];
            block(*this).finish(found);
            return;
        }
        const std::int64_t some = std::max<std::int64_t>(1, share / pieces);
        threads.run((blocks_ + some - 1) / some, parts_for_a_thread(some * work * pieces),
                    [&](std::int64_t part) {
                        block one(*this);
                        const std::int64_t end = std::min((part + 1) * some, blocks_);
                        for (std::int64_t i = part * some; i < end; ++i) one.all(i);
                    });
    }

private:
    /// Vectors go along the result where it has enough of that axis, else along the longer axis.
    static int lane_of(const P& p) {
        const operand* const out = result_alone<T>(p.epilogue);
        constexpr std::int64_t enough = 2 * lanes_of<T>::count;
        if (out && std::min(p.m, p.n) >= enough)
            return out->steps[p.batch.rank()] == 1 && out->steps.back() != 1 ? 0 : 1;
        return p.m > p.n ? 0 : 1;
    }
    /// The longer axis of parts of so many lanes or others, seen as axes of a matrix.
    static int longer(std::int64_t first, std::int64_t second) { return first > second ? 0 : 1; }

    class block {
    public:
        explicit block(const narrow_product& of)
            : of_(of), depth_(std::min(of.p_.k, tile_depth)),
              left_(of.left_, of.p_.a, of.buffers_, of.p_.batch.rank(),
                    longer(of.lane_ == 0 ? of.width_ : of.height_, depth_)),
              right_(of.right_, of.p_.b, of.buffers_, of.p_.batch.rank(),
                     longer(depth_, of.lane_ == 0 ? of.height_ : of.width_)),
              out_(of.out_, of.p_.epilogue, of.buffers_, of.p_.batch.rank(),
                   of.width_ >= of.height_ ? of.lane_ : 1 - of.lane_),
              room_(sizeof(T) * static_cast<std::size_t>(2 * of.width_ * of.height_ +
                                                         (of.width_ + spare) * depth_)) {
            seek(0);
        }
        /// The whole of a block.
        void all(std::int64_t number) {
            seek(number);
            const numbers_at<T> to = target();
            T* const sums = static_cast<T*>(room_.data());
            const std::int64_t k = of_.p_.k;
            if (k <= tile_depth && to.step[0] == 1) {
                piece(0, to.first, to.step[1]);
                return write();
            }
            piece(0, sums, of_.width_);
            T* const more = sums + of_.width_ * of_.height_;
            for (std::int64_t from = tile_depth; from < k; from += tile_depth) {
                piece(from, more, of_.width_);
                for (std::int64_t j = 0; j < others_; ++j)
                    for (std::int64_t i = 0; i < lanes_; ++i)
                        sums[j * of_.width_ + i] += more[j * of_.width_ + i];
            }
            finish(sums);
        }
        /// The sums of the piece from there on.
        void piece(std::int64_t from, T* sums, std::int64_t step) {
            const std::int64_t depth = std::min(of_.p_.k - from, tile_depth);
            const bool turned = of_.lane_ == 1;
            numbers_at<const T> a = turned ? right_.read(at_, {from, lane_}, {depth, lanes_})
                                           : left_.read(at_, {lane_, from}, {lanes_, depth});
            numbers_at<const T> b = turned ? left_.read(at_, {other_, from}, {others_, depth})
                                           : right_.read(at_, {from, other_}, {depth, others_});
            if (turned) std::swap(a.step[0], a.step[1]), std::swap(b.step[0], b.step[1]);
            if (others_ == 1 && (a.step[0] != 1 || lanes_ == 1)) {
                const add_rows<T> add{lanes_, depth, {a.step[0], a.step[1]}, b.step[0]};
                return run_wide(add, a.first, b.first, sums);
            }
            if (a.step[0] != 1 && lanes_ > 1) {
                // Not a power of two apart, for caches.
                T* const lines = static_cast<T*>(room_.data()) + 2 * of_.width_ * of_.height_;
                const std::int64_t apart = of_.width_ + spare;
                copy_numbers<T>(a, {lines, {1, apart}}, lanes_, depth);
                a = {lines, {1, apart}};
            }
            const add_products<T> add{lanes_, others_, depth, a.step[1], {b.step[0], b.step[1]},
                                      step};
            run_wide(add, a.first, b.first, sums);
        }
        void finish(const T* sums) {
            copy_numbers<T>({sums, {1, of_.width_}}, target(), lanes_, others_);
            write();
        }

    private:
        static constexpr std::int64_t spare = 16;

        void seek(std::int64_t number) {
            lane_ = number % of_.across_ * of_.width_;
            other_ = number / of_.across_ % of_.down_ * of_.height_;
            lanes_ = std::min(of_.width_, of_.lanes_ - lane_);
            others_ = std::min(of_.height_, of_.others_ - other_);
            at_ = index_of(number / (of_.across_ * of_.down_), of_.p_.batch);
        }
        /// Where the results of the block go: the steps of lanes and others.
        numbers_at<T> target() {
            numbers_at<T> to = of_.lane_ == 1 ? out_.place(at_, {other_, lane_}, {others_, lanes_})
                                              : out_.place(at_, {lane_, other_}, {lanes_, others_});
            if (of_.lane_ == 1) std::swap(to.step[0], to.step[1]);
            return to;
        }
        void write() {
            if (of_.lane_ == 1) out_.write(at_, {other_, lane_}, {others_, lanes_});
            else out_.write(at_, {lane_, other_}, {lanes_, others_});
        }

        const narrow_product& of_;
        std::int64_t depth_;
        matrix_parts<T> left_, right_, out_;
        thread_room room_;  // sums twice, lines
        index_list at_;
        std::int64_t lane_ = 0, other_ = 0, lanes_ = 0, others_ = 0;
    };

    const P& p_;
    const host_buffers& buffers_;
    const operand *left_, *right_, *out_;
    int lane_;
    bool in_lines_;
    std::int64_t lanes_, others_, width_, height_, across_, down_, blocks_;
};

/// Multiplies all, if the product is narrow.
template <class T, std::same_as<matmul_problem> P>
bool multiply_narrow(const P& p, const host_buffers& buffers, const thread_pool& threads) {
    if (std::min({p.m, p.n, p.k}) > most_narrow) return false;
    if (p.m * p.n * element_count(p.batch) == 0) return true;
    narrow_product<T, P>(p, buffers).run(threads);
    return true;
}

}}}  // namespace pumice::PUMICE_ABI::detail
