// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Convolutions as products of tiles whose windows are read along the channels, by 16 bytes
// (Channels of shaders/tile_load.slang).
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/kernels/conv.hpp>
#include <pumice/kernels/packed.hpp>
#include <pumice/kernels/slices.hpp>

#include <algorithm>
#include <optional>

namespace pumice { inline namespace PUMICE_ABI {

namespace detail {

/// A convolution along channels: k is (window y, window x, channel of the group), the channels up
/// to whole chunks, so that a chunk of a window lies together. Factors that do not lie so are
/// copied first, the input with its padding. Pre: windows are gathered.
struct channel_convolution {
    const conv_problem& asked;
    dtype held;                            // elements of chunks
    std::int64_t channels;                 // of a group, with their padding
    std::optional<packed_factor> weights;  // copied
    std::optional<packed_lines> input;     // copied
    operand image;  // what windows are read from, over of.image: image, group, y, x, channel
    product of;

    channel_convolution(const conv_problem& q, const device_info& device)
        : asked(q), held(dtype::f32), of(product_of(q)) {
        const dtype type = fragment_type(q.input.type());
        if (type == fragment_type(q.weight.type()) && has_fragments(type, device)) held = type;
        const int lanes = 128 / info(held).bits;
        const std::int64_t groups = q.shape_of.group, in = q.in_channels / groups;
        channels = (in + lanes - 1) / lanes * lanes;
        of.k = q.window[0] * q.window[1] * channels;
        of.depth = {of.k};
        of.window_work = 80.0 / lanes;

        shape domain{groups, of.m, q.window[0], q.window[1], in};
        fused f = q.weight;  // {m, c, y, x} -> {g, m, y, x, c}
        split_group(f, of.m, 0);
        move_axis(f, 2, 4);
        if (channels != in || !lies_along_k(f, domain)) {
            collapse(domain, operands_of(f), 2, 4);
            weights.emplace(f, held, domain, channels);
            of.left = leaf_program({-2, held, 0, {of.m * of.k, of.k, 1}});
        }

        of.image = {q.batch, groups, q.in_size[0], q.in_size[1], in};
        f = q.input;  // {n, c, y, x} -> {n, g, y, x, c}
        split_group(f, in, 1);
        move_axis(f, 0, 1);
        move_axis(f, 2, 4);
        const operand* o = copied_leaf(f);
        if (channels == in && o && o->type == held && vector_mask(f, of.image, lanes) &&
            o->steps[4] == 1) {
            image = *o;
        } else {
            for (int i = 0; i < 2; ++i) of.image[2 + i] = padded_size(i);
            of.image[4] = channels;
            const std::int64_t rows = q.batch * of.image[2] * of.image[3];
            input = {held, {groups}, rows, in, rows, channels, weights ? weights->end() : 0};
            image = {-2, held, input->offset, row_major_strides(of.image)};  // {g, n, y, x, c}
            image.steps[1] = rows * channels;
            image.steps[0] = image.steps[2] * of.image[2];
        }
        of.right = leaf_program(image);
        const std::int64_t copied = input ? input->end() : weights ? weights->end() : 0;
        of.scratch = byte_count(held, copied);

        // Outputs whose channels lie together are written along them.
        const strides& to = of.epilogue.outputs[0].steps;
        if (of.columns.rank() == 1 && std::abs(to[1]) < std::abs(to[2])) transpose(of);
    }

    support tiles(const product& p, const device_info& device) const {
        return held == dtype::f32 ? supports_registers(p, device)
                                  : supports_matrices(p, kind(), device);
    }
    bool wide() const { return is_wide(of) || is_wide(product_of(asked)); }
    double seconds(const device_info& device) const {
        const shape read{asked.batch, asked.in_channels, asked.in_size[0], asked.in_size[1]};
        return (weights ? weights->seconds(device) : 0) +
               (input ? input->seconds(device, bytes_of(asked.input, read), true) : 0);
    }
    array_list<launch> copies(const device_info& device) const {
        array_list<launch> all;
        if (weights) all.push_back(weights->make(device, wide()));
        if (input) all.push_back(copy_input(device));
        return all;
    }
    launch multiply(const device_info& device, const configuration& way) const {
        const product p = sliced_as(of, way);
        const core_choice core = held == dtype::f32 ? register_core(p, way, device)
                                                    : matrix_core(p, kind(), way, device);
        const special_loader windows{
            cat({"Channels<", core.chunk, ",", index_type(wide()), ",", p.batch.rank(), ",",
                 bool_text(lies_inside()), ",", bool_text(p.k % core.k == 0), ">"}),
            this, add, false};
        launch l = staged_launch(p, core, device, wide(), &windows);
        l.accesses.push_back(range_of(image, of.image, false));
        return l;
    }

private:
    /// Pre: fragments hold what is copied.
    const fragments& kind() const { return *fragments_of(held, held, reduced_precision::none); }
    std::int64_t padded_size(int axis) const noexcept {
        const conv_op& op = asked.shape_of;
        return asked.in_size[axis] + op.pad_begin[axis] + op.pad_end[axis];
    }
    /// Whether no window reads beside what `image` has.
    bool lies_inside() const noexcept {
        return padded_size(0) == of.image[2] && padded_size(1) == of.image[3];
    }
    /// As windows of one element.
    launch copy_input(const device_info& device) const {
        const std::string chunk = chunk_name(held);
        return input->make(device, wide(), chunk, window_type(asked, chunk, wide(), 1, 1), true,
                           [&](parameter_block& block, launch& l) {
                               l.programs.push_back(asked.input.body);
                               conv_op each;
                               for (int i = 0; i < 2; ++i)
                                   each.pad_begin[i] = asked.shape_of.pad_begin[i];
                               add_windows(block, "A.Params factor", asked, each,
                                           {asked.batch, of.image[2], of.image[3]});
                           });
    }
    /// Whether a tile can read them without a copy; if so they are the left factor.
    bool lies_along_k(fused f, shape domain) {
        if (collapse(domain, operands_of(f), 2, 5) != 1 || multiplied_type(f) != held) return false;
        const reading way = packed_reading(f, {domain[0]}, domain[1], {domain[2]}, held);
        if (way.way != reading::vectors_along_k || way.bare == reading::ragged) return false;
        of.left = f;
        return true;
    }
    static void add(parameter_block& to, const char* slang, const product&, const void* of) {
        const auto& c = *static_cast<const channel_convolution*>(of);
        const conv_problem& q = c.asked;
        const shape result{q.batch, q.out_size[0], q.out_size[1]},
            taps{q.window[0], q.window[1], c.channels};
        const std::int64_t none[2] = {0, 0},
                           begin[2] = {q.shape_of.pad_begin[0], q.shape_of.pad_begin[1]};
        to.add({{slang,
                 "ChannelsParams",
                 {{"uint* data", block::address{c.image.buffer}},
                  {"I base", c.image.offset},
                  {"I step[4]", block::axes{c.image.steps, 4}},
                  {"Extents<I, 3> result", block::extents{result}},
                  {"Extents<I, 3> taps", block::extents{taps}},
                  {"I size[2]", q.in_size},
                  {"I stride[2]", q.shape_of.stride},
                  {"I dilation[2]", q.shape_of.dilation},
                  {"I pad[2]", c.input ? none : begin}}}});
    }
};

}  // namespace detail

/// In tiles, of windows whose channels lie together, by 16 bytes; what lies otherwise is copied
/// first, which may take 512 MiB or a 64th of the device's memory, whichever is less. A
/// configuration is a tile, and in how many slices of k the sums are taken.
struct conv_channels {
    using problem_type = conv_problem;
    static constexpr std::string_view name = "conv/channels";
    static constexpr bool portable = false;

    static support supports(const conv_problem& q, const device_info& device) {
        if (support s = detail::supports_convolution(q, device); !s.yes) return s;
        if (info(q.input.type()).arithmetic != arithmetic::f32)
            return support::no("it sums in f32");
        if (q.batch == 0 || q.in_channels == 0 || q.out_channels == 0 ||
            q.in_size[0] * q.in_size[1] == 0)
            return support::no("there is nothing to read");
        if (!detail::product_of(q).gathers())
            return support::no("its windows lie as a matrix already");
        if (padded_elements(q) > 0x1p40)
            return support::no("its padding is too large to be copied");
        const detail::channel_convolution along(q, device);
        const std::int64_t most =
            std::min(most_bytes, device.memory > 0 ? device.memory / 64 : most_bytes);
        if (along.of.scratch > most)
            return support::no({"its copies take ", along.of.scratch >> 20, " MiB"});
        if (support index = supports_index(along.wide(), device); !index.yes) return index;
        support s = along.tiles(along.of, device);
        if (!s.yes) return s;
        detail::add_slices(s, along.of, {2, 4, 8, 16}, detail::most_sums(device), device,
                           [&](const detail::product& slice) {
                               return along.tiles(slice, device).ways;
                           });
        for (configuration& way : s.ways) way.seconds += along.seconds(device);
        return s;
    }
    static launch make(const conv_problem& q, const device_info& device, const configuration& way) {
        return detail::channel_convolution(q, device).multiply(device, way);
    }
    static array_list<launch> make_all(const conv_problem& q, const device_info& device,
                                       const configuration& way) {
        const detail::channel_convolution along(q, device);
        array_list<launch> launches = along.copies(device);
        for (launch& l : detail::with_join(along.multiply(device, way), along.of, way, device))
            launches.push_back(std::move(l));
        return launches;
    }
    static std::int64_t scratch(const conv_problem& q, const device_info& device,
                                const configuration& way) {
        return detail::slice_bytes(detail::channel_convolution(q, device).of, way);
    }

private:
    static constexpr std::int64_t most_bytes = std::int64_t{512} << 20;
    static double padded_elements(const conv_problem& q) {
        double n = static_cast<double>(q.batch) * static_cast<double>(q.in_channels);
        for (int i = 0; i < 2; ++i)
            n *=
                static_cast<double>(q.in_size[i]) + q.shape_of.pad_begin[i] + q.shape_of.pad_end[i];
        return n;
    }
};

static_assert(kernel_type<conv_channels>);

}}  // namespace pumice::PUMICE_ABI
