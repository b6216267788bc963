// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A tensor in a storage format: its blocks, and what they are read as.
#pragma once

#include <pumice/graph/decode.hpp>
#include <pumice/graph/gather.hpp>
#include <pumice/tensor/context.hpp>

namespace pumice { inline namespace PUMICE_ABI {

/// A value, like a tensor: copies share the blocks. Where a kernel reads what it decodes to, blocks
/// are what is read from memory: `matmul(x, permute_dims(w.decoded(), {1, 0}))`.
class coded_tensor {
public:
    /// Blocks that are there: see `decode`.
    coded_tensor(const storage_format& format, any_tensor blocks, const shape& extent)
        : format_(&format), blocks_(std::move(blocks)), extent_(extent) {
        static_cast<void>(decoded());
    }
    /// A copy of blocks in row-major order. Throws errc::shape_mismatch.
    static coded_tensor from_bytes(const storage_format& format, const shape& extent,
                                   span<const std::byte> bytes,
                                   const context& home = default_context()) {
        detail::check_format(format);
        const std::int64_t count = format.held(element_count(extent));
        return {format, pumice::from_bytes(format.memory, {count}, bytes, home), extent};
    }
    /// The values of a float tensor brought to the format, by the host; evaluates. Throws
    /// errc::unsupported for a format that has no way there.
    static coded_tensor from(const storage_format& format, const any_tensor& values) {
        const std::vector<float> read = to_vector<float>(astype(values, dtype::f32));
        return from_bytes(format, values.shape(), encode(format, read),
                          context(values.get()->owner));
    }

    const storage_format& format() const noexcept { return *format_; }
    const pumice::shape& shape() const noexcept { return extent_; }
    /// The blocks' memory, to be read, moved or kept as any other.
    const any_tensor& blocks() const noexcept { return blocks_; }
    std::int64_t size_bytes() const { return blocks_.size_bytes(); }

    /// Lazy; what reads it decodes as it loads.
    any_tensor decoded(dtype type = dtype::f32) const {
        return decode(*format_, blocks_, extent_, type);
    }
    /// The slices along the first axis that `indices`, of rank 1, name; blocks are moved as they
    /// are. Throws errc::shape_mismatch where a slice is no whole number of blocks.
    coded_tensor take(const any_tensor& indices) const {
        pumice::shape out = extent_;
        std::int64_t slice = 1;
        for (int i = 1; i < extent_.rank(); ++i) slice *= extent_[i];
        if (extent_.empty() || indices.rank() != 1 || slice % format_->unit() != 0)
            fail(errc::shape_mismatch, "take",
                 {"a slice of ", slice, " elements of the shape ", to_string(extent_),
                  " is no whole number of blocks of ", format_->unit()});
        out[0] = indices.size();
        const any_tensor rows = reshape(blocks_, {extent_[0], format_->held(slice)});
        return {*format_, pumice::take(rows, indices, 0), out};
    }

private:
    const storage_format* format_;
    any_tensor blocks_;
    pumice::shape extent_;
};

}}  // namespace pumice::PUMICE_ABI
