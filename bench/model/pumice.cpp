// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Models by file, by the names of bench/peers/torch_ref.py: recorded, and built anew; how the times
// of 1 000 runs lie. usage: FILE... ; --process FILE: loads, runs twice and ends, for whoever times
// processes
#include <bench/support/measure.hpp>

#include <pumice/model.hpp>
#include <pumice/tensor/profile.hpp>

#include <cstring>
#include <filesystem>

namespace pm = pumice;

namespace {

std::int64_t status(const std::string& line) {  // bytes
    std::FILE* const file = std::fopen("/proc/self/status", "r");
    if (!file) return 0;
    std::int64_t found = 0;
    for (char text[256]; std::fgets(text, sizeof text, file);)
        if (std::strncmp(text, line.c_str(), line.size()) == 0)
            found = std::atoll(text + line.size()) * 1024;
    std::fclose(file);
    return found;
}

pm::any_tensor input_of(const pm::model& m) {
    const auto& first = m.inputs()[0];
    pm::shape extent;
    for (const auto& d : first.dims) extent.push_back(std::max<std::int64_t>(d.size, 1));
    const pm::any_tensor x = pm::full(first.dtype, extent, 0.5);
    pm::eval(std::span(&x, 1));
    return x;
}

/// mnist-12.onnx is mnist-12_f32 there.
std::string name_of(const std::filesystem::path& file, pm::dtype type) {
    const std::string stem = file.stem().string(), end = "_" + std::string(pm::to_string(type));
    return stem.ends_with(end) ? stem : stem + end;
}

/// Microseconds that the device is at work in each run: from the first kernel to the end of the
/// last.
std::vector<double> device_times(const pm::executable& e, std::span<const pm::any_tensor> inputs,
                                 std::size_t kernels, std::size_t runs) {
    std::vector<pm::any_tensor> out(e.outputs().size());
    runs = std::min(runs, 60000 / std::max<std::size_t>(kernels, 1));  // as many events are kept
    pm::profiler watch;
    for (std::size_t i = 0; i < runs; ++i) {
        e.run_into(out, inputs);
        bench::drain(out[0]);
    }
    const pm::profile p = watch.finish();
    std::vector<double> begins, times;
    double begin = 0, end = 0;
    std::size_t count = 0;
    for (const pm::profile_event& event : p.events) {
        if (event.track == 0 || event.name.find('/') == std::string::npos) continue;
        if (count == 0) begin = event.begin_us;
        end = event.begin_us + event.duration_us;
        if (++count == kernels) times.push_back(end - begin), count = 0;
    }
    return times;
}

void run(const std::filesystem::path& file) {
    const std::int64_t held = status("VmRSS:");
    const double start = bench::now();
    const pm::model model = pm::model::load(file);
    const double loaded = bench::now();
    const pm::any_tensor input = input_of(model);
    const std::string name = name_of(file, input.dtype());
    const double ready = bench::now();
    const auto built = [&](std::size_t) { return model.run(std::span(&input, 1))[0]; };
    bench::drain(built(0));
    const double first = bench::now();
    const std::uint64_t before = pm::stats().dispatches;
    bench::drain(built(0));
    const std::uint64_t kernels = pm::stats().dispatches - before;
    bench::json_line()
        .add("case", name)
        .add("mode", "start")
        .add("load_us", loaded - start)
        .add("first_us", first - ready)
        .add("resident_mib", double(status("VmRSS:") - held) / (1 << 20))
        .add("peak_mib", double(status("VmHWM:")) / (1 << 20))
        .add("kernels", double(kernels));
    const bench::timing again = bench::measure_calls(built, 200, 1);
    {
        bench::json_line line;
        line.add("case", name).add("mode", "built");
        bench::add_timing(line, again);
    }

    const pm::executable recorded = model.compile();
    const bench::timing t = bench::measure_recorded(recorded, std::span(&input, 1), 1000, 4);
    std::vector<double> device;
    if (pm::default_context().device().timestamp_period > 0)
        device = device_times(recorded, std::span(&input, 1), kernels, t.sync.size());

    // From the input on the host to the output on the host.
    std::vector<pm::any_tensor> out(1);
    std::vector<std::byte> given(static_cast<std::size_t>(input.size_bytes()), std::byte{0}), got;
    pm::any_tensor in[1], x = pm::zeros(input.dtype(), input.shape());
    std::vector<double> trips;
    for (std::size_t i = 0; i < t.sync.size() + 5; ++i) {
        const double begin = bench::now();
        in[0] = {};
        pm::write(x, given);
        in[0] = x;
        recorded.run_into(out, in);
        got.resize(static_cast<std::size_t>(out[0].size_bytes()));
        pm::read(out[0], got);
        if (i >= 5) trips.push_back(bench::now() - begin);
    }
    bench::json_line line;
    line.add("case", name).add("mode", "recorded");
    line.add("med_us", t.queued).add("min_us", t.queued_least);
    bench::add_distribution(line, "sync", t.sync);
    if (!device.empty()) bench::add_distribution(line, "device", device);
    line.add("host_us", bench::median(trips)).add("runs", double(t.sync.size()));
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc > 2 && std::strcmp(argv[1], "--process") == 0) {
        const pm::model model = pm::model::load(argv[2]);
        const pm::any_tensor input = input_of(model);
        for (int i = 0; i < 2; ++i) bench::drain(model.run(std::span(&input, 1))[0]);
        return 0;
    }
    {
        bench::json_line line;
        bench::add_machine(line, pm::default_context());
    }
    for (int i = 1; i < argc; ++i) run(argv[i]);
} catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
