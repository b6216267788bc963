// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// How long the weights of a model take from their file to the device, and what the host holds for
// them at the most. usage: FOLDER [MiB of the model]..., in matrices of 256 MiB beside the model
#include <bench/support/measure.hpp>
#include <pumice/model.hpp>

#include <protozero/pbf_writer.hpp>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

namespace pm = pumice;

namespace {

constexpr std::int64_t columns = 4096, mib = 1 << 20, most = 256;

float weight(std::int64_t i) { return static_cast<float>(i * 31 % 8191) - 4095; }

std::string message(const std::function<void(protozero::pbf_writer&)>& write) {
    std::string bytes;
    protozero::pbf_writer to(bytes);
    write(to);
    return bytes;
}
std::string entry(const std::string& key, const std::string& value) {
    return message([&](auto& m) { m.add_string(1, key), m.add_string(2, value); });
}
std::string tensor_type(const char* name, std::int32_t type, std::int64_t size) {
    const std::string shape = message([&](auto& m) {
        m.add_message(1, message([&](auto& d) { d.add_int64(1, size); }));
    });
    const std::string tensor =
        message([&](auto& m) { m.add_int32(1, type), m.add_message(2, shape); });
    return message([&](auto& m) {
        m.add_string(1, name);
        m.add_message(2, message([&](auto& t) { t.add_message(1, tensor); }));
    });
}

/// y = the sum over all matrices of their row x.
std::filesystem::path write(const std::filesystem::path& folder, std::int64_t size) {
    const std::string data = "weights_" + std::to_string(size) + ".bin";
    std::string graph;
    protozero::pbf_writer to(graph);
    std::int64_t number = 0;
    std::string sum;
    const auto node = [&](const char* op, const std::vector<std::string>& in,
                          const std::string& out) {
        to.add_message(1, message([&](auto& m) {
                           for (const std::string& name : in) m.add_string(1, name);
                           m.add_string(2, out);
                           m.add_string(4, op);
                       }));
    };
    for (std::int64_t done = 0; done < size; done += most, ++number) {
        const std::int64_t bytes = std::min(size - done, most) * mib;
        const std::string name = "w" + std::to_string(number), row = "row" + name;
        to.add_message(5, message([&](auto& m) {
                           m.add_int64(1, bytes / 4 / columns);
                           m.add_int64(1, columns);
                           m.add_int32(2, 1);
                           m.add_string(8, name);
                           m.add_message(13, entry("location", data));
                           m.add_message(13, entry("offset", std::to_string(done * mib)));
                           m.add_int32(14, 1);
                       }));
        node("Gather", {name, "x"}, row);
        const bool last = done + most >= size;
        const std::string next = last ? "y" : "sum" + std::to_string(number);
        if (number == 0) node("Identity", {row}, next);
        else node("Add", {sum, row}, next);
        sum = next;
    }
    to.add_message(11, tensor_type("x", 7, 1));
    to.add_message(12, message([&](auto& m) { m.add_string(1, "y"); }));
    const auto path = folder / ("model_" + std::to_string(size) + ".onnx");
    std::ofstream(path, std::ios::binary) << message([&](auto& m) {
        m.add_int64(1, 8);
        m.add_message(7, graph);
        m.add_message(8, message([&](auto& o) { o.add_string(1, ""), o.add_int64(2, 20); }));
    });
    if (std::filesystem::exists(folder / data) &&
        std::cmp_equal(std::filesystem::file_size(folder / data), size * mib))
        return path;
    std::ofstream file(folder / data, std::ios::binary);
    std::vector<float> piece(mib / 4);
    for (std::int64_t at = 0; at < size * mib / 4; at += std::ssize(piece)) {
        for (std::size_t i = 0; i < piece.size(); ++i)
            piece[i] = weight(at + static_cast<std::int64_t>(i));
        file.write(reinterpret_cast<const char*>(piece.data()), mib);
    }
    return path;
}

std::int64_t status(const std::string& line) {
    std::ifstream file("/proc/self/status");
    for (std::string text; std::getline(file, text);)
        if (text.starts_with(line)) return std::stoll(text.substr(line.size())) * 1024;
    return 0;
}

void run(const std::filesystem::path& folder, std::int64_t size) {
    const auto path = write(folder, size);
    std::vector<double> times;
    std::int64_t peak = 0;
    bool right = true;
    for (int i = 0; i < 6; ++i) {
        std::ofstream("/proc/self/clear_refs") << 5;  // the peak is now
        const std::int64_t before = status("VmRSS:");
        const double begin = bench::now();
        const pm::model m = pm::model::load(path);
        times.push_back((bench::now() - begin) / 1000);
        peak = std::max(peak, status("VmHWM:") - before);
        if (i > 0) continue;
        const std::int64_t row = 11;
        const pm::any_tensor x =
            pm::from_bytes(pm::dtype::i64, {1}, std::as_bytes(std::span(&row, 1)));
        const std::vector<float> y = pm::to_vector<float>(m(x));
        for (std::int64_t c = 0; c < columns; ++c) {
            float sum = 0;
            for (std::int64_t done = 0; done < size; done += most)
                sum += weight(done * mib / 4 + row * columns + c);
            right = right && y[static_cast<std::size_t>(c)] == sum;
        }
    }
    const double first = times.front();
    times.erase(times.begin());
    const double ms = bench::median(times);
    bench::json_line()
        .add("case", "load_" + std::to_string(size) + "MiB")
        .add("first_ms", first)
        .add("ms", ms)
        .add("gbps", static_cast<double>(size * mib) / 1e6 / ms)
        .add("host_peak_mib", static_cast<double>(peak) / static_cast<double>(mib))
        .add("right", right);
}

/// The same while another thread computes, and how much of what it does alone it does meanwhile.
void run_beside_work(const std::filesystem::path& folder, std::int64_t size, const char* queue) {
    const auto path = write(folder, size);
    const pm::matrix<pm::f16> x = pm::ones<pm::f16>({2048, 2048});
    std::atomic<std::int64_t> done{0};
    std::atomic<bool> over{false};
    std::thread worker([&] {
        for (; !over; ++done) (void)pm::max(pm::matmul(x, x)).item();
    });
    const auto done_in = [&](auto&& what) {
        const std::int64_t before = done;
        const double begin = bench::now();
        what();
        const double us = bench::now() - begin;
        return std::pair(us, static_cast<double>(done - before) / us);
    };
    done_in([] { std::this_thread::sleep_for(std::chrono::milliseconds(500)); });
    std::vector<double> times, shares;
    for (int i = 0; i < 5; ++i) {
        const double alone =
            done_in([] { std::this_thread::sleep_for(std::chrono::milliseconds(100)); }).second;
        const auto [us, beside] = done_in([&] { pm::model::load(path); });
        times.push_back(us / 1000);
        shares.push_back(beside / alone);
    }
    over = true;
    worker.join();
    bench::json_line()
        .add("case", "load_" + std::to_string(size) + "MiB_beside_products")
        .add("queue", queue)
        .add("ms", bench::median(times))
        .add("share_of_products", bench::median(shares));
}

}  // namespace

int main(int argc, char** argv) try {
    const std::filesystem::path folder = argc > 1 ? argv[1] : ".";
    std::filesystem::create_directories(folder);
    {
        bench::json_line line;
        bench::add_machine(line, pm::default_context());
    }
    if (argc < 3) {
        run(folder, 1024);
        run_beside_work(folder, 1024, "compute");
        pm::set_default_context(pm::context(pm::uploading::on_transfer_queues{}));
        run_beside_work(folder, 1024, "transfer");
    }
    for (int i = 2; i < argc; ++i) run(folder, std::stoll(argv[i]));
} catch (const pm::error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
