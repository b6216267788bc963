// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A run that copies nothing: the kernels read and write where the program does, and another context
// reads the result through a file descriptor.
#include <pumice/front.hpp>
#include <pumice/runner.hpp>

#include <cstdio>

#include <unistd.h>

namespace pm = pumice;

int main() {
    const pm::context home;
    pm::tensor_info image;  // f32, of the shape that the function takes
    image.name = "image";
    image.shape = {1, 3, 4, 4};

    pm::runner_options options;
    options.input_view = options.output_view = pm::io_view::hardware;
    options.hardware_layout = pm::memory_layout::hcwnc4();  // channels in blocks of four
    const pm::runner brighter(
        home, std::span(&image, 1),
        [](std::span<const pm::any_tensor> x) {
            return std::vector<pm::any_tensor>{pm::any_tensor(pm::relu(x[0] + 1.0f))};
        },
        options);
    const pm::tensor_info& in = brighter.info("image");
    std::printf("%s %s\n", pm::to_string(in.shape).c_str(), pm::to_string(in.layout).c_str());

    const pm::runner_tensor x = brighter.allocate("image"),
                            y = brighter.allocate("output0", pm::memory_kind::fd);
    std::vector<float> values(4 * 1 * 4 * 1 * 4, 2);
    if (float* const mapped = x.data_as<float>()) {
        std::copy(values.begin(), values.end(), mapped);  // where the device reads it
        x.sync(pm::sync_direction::to_device);
    } else {
        x.write(std::as_bytes(std::span(values)));  // a card whose memory the host does not map
    }
    if (brighter.execute({x}, {y}) != pm::run_status::ok) {
        std::printf("%s\n", pm::run_message());
        return 1;
    }
    const int fd = y.export_fd();  // for another process, or another context as here
    const pm::context other;
    const auto seen = pm::runner_tensor_view::import_fd(other, y.info(), fd);
    close(fd);
    seen.read(std::as_writable_bytes(std::span(values)));
    const pm::runner_stats stats = brighter.stats();
    std::printf("%g, with %d copies\n", double(values[0]),
                int(stats.copies_in + stats.copies_out));  // 3, with 0 copies
}
