// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

#include <pumice/runner/tensor.hpp>

#include <unistd.h>

using namespace test;
using pm::io_view;
using pm::memory_kind;

namespace {

constexpr memory_kind every_kind[] = {memory_kind::device, memory_kind::fd,
                                      memory_kind::host_import, memory_kind::host};

}  // namespace

TEST_CASE("runner tensor: no copy in the hardware view and memory that the device sees, else one") {
    const pm::context home;
    for (const io_view view : {io_view::host, io_view::hardware}) {
        pm::runner_options o;
        o.input_view = o.output_view = view;
        const pm::runner r = shifting(home, {6, 5}, o);
        for (const memory_kind kind : every_kind) {
            CAPTURE(static_cast<int>(view));
            CAPTURE(to_string(kind));
            if (view == io_view::hardware && kind == memory_kind::host) {
                const pm::error e = thrown_by([&] { r.allocate("x", kind); });
                CHECK(e.code() == pm::errc::invalid_argument);
                CHECK(e.message().find("ordinary host memory") != std::string::npos);
                std::vector<float> own(30);
                CHECK(code_of([&] { r.wrap("x", own.data()); }) == pm::errc::invalid_argument);
                continue;
            }
            const pm::runner_tensor x = r.allocate("x", kind), y = r.allocate("output0", kind);
            CHECK(x.kind() == kind);
            x.write(bytes_of(counting(30, 3)));
            REQUIRE(r.execute({x}, {y}) == pm::run_status::ok);  // once, for what is made at first
            const pm::runner_stats before = r.stats();
            const pm::statistics moved = home.stats();
            for (int i = 0; i < 3; ++i) REQUIRE(r.execute({x}, {y}) == pm::run_status::ok);
            const pm::runner_stats after = r.stats();
            const bool copies = !pm::is_zero_copy(view, kind);
            CHECK(after.runs - before.runs == 3);
            CHECK(after.copies_in - before.copies_in == (copies ? 3 : 0));
            CHECK(after.copies_out - before.copies_out == (copies ? 3 : 0));
            CHECK(after.copied_bytes - before.copied_bytes == (copies ? 3 * 2 * 120 : 0));
            if (!copies) {
                CHECK(home.stats().uploaded_bytes == moved.uploaded_bytes);
                CHECK(home.stats().downloaded_bytes == moved.downloaded_bytes);
            }
            CHECK(values_of<float>(y) == shifted(counting(30, 3)));
        }
    }
    static_assert(pm::is_zero_copy(io_view::hardware, memory_kind::fd) &&
                  !pm::is_zero_copy(io_view::hardware, memory_kind::host) &&
                  !pm::is_zero_copy(io_view::host, memory_kind::device));
}

TEST_CASE("runner tensor: accessors of what is not there give null, construction throws") {
    const pm::context home;
    const pm::runner_tensor_view none;
    CHECK(none.data() == nullptr);
    CHECK(none.size_bytes() == 0);
    CHECK_FALSE(none.has_value());
    CHECK(code_of([&] { none.info(); }) == pm::errc::invalid_argument);
    const pm::tensor_info info = input_of(pm::dtype::f32, {4, 8});
    for (const memory_kind kind : every_kind) {
        const pm::runner_tensor t(home, info, kind);
        CHECK(t.size_bytes() == 128);
        CHECK(t.data_as<std::int32_t>() == nullptr);  // it is f32
        if (kind == memory_kind::host || kind == memory_kind::host_import)
            CHECK(t.data_as<float>() != nullptr);
        if (kind != memory_kind::fd)
            CHECK(code_of([&] { t.export_fd(); }) == pm::errc::unsupported);
        CHECK(code_of([&] { t.sub(3, 2); }) == pm::errc::index_out_of_range);
        CHECK(code_of([&] { t.write({}); }) == pm::errc::shape_mismatch);
    }
    CHECK(code_of([&] { pm::runner_tensor_view(home, info, nullptr); }) ==
          pm::errc::invalid_argument);
    CHECK(code_of([&] { pm::runner_tensor_view::import_fd(home, info, -1); }) ==
          pm::errc::invalid_argument);
    CHECK(code_of([&] { pm::runner_tensor_view::import_fd(home, info, 12345); }) ==
          pm::errc::unsupported);
    CHECK(code_of([&] { pm::runner_tensor(home, info, memory_kind::device, 77); }) ==
          (on_host(home) ? std::nullopt : std::optional(pm::errc::unsupported)));
    // A device that the host does not see into shows no memory.
    pm::device_info described;
    const pm::context null{pm::null_device{described}};
    CHECK(pm::runner_tensor(null, info).data() == nullptr);
    CHECK(code_of([&] { pm::runner_tensor(null, info, memory_kind::fd); }) ==
          pm::errc::unsupported);
}

TEST_CASE("runner tensor: sub-tensors share memory at any depth, and the last one keeps it") {
    const pm::context home;
    pm::runner_options o;
    o.input_view = o.output_view = io_view::hardware;
    const pm::runner r = shifting(home, {1, 8}, o);
    const std::vector<float> values = counting(64, 5);
    for (const memory_kind kind :
         {memory_kind::device, memory_kind::fd, memory_kind::host_import}) {
        CAPTURE(to_string(kind));
        pm::tensor_info batch = r.info("x");
        batch.shape = {8, 8};
        pm::runner_tensor whole(home, batch, kind), results(home, batch, kind);
        whole.write(bytes_of(values));
        const pm::runner_tensor half = whole.sub(4, 4);
        const std::uint64_t copies = r.stats().copies_in + r.stats().copies_out;
        for (int i = 0; i < 4; ++i)
            REQUIRE(r.execute({half.sub(i)}, {results.sub(i)}) == pm::run_status::ok);
        CHECK(r.stats().copies_in + r.stats().copies_out == copies);
        const pm::runner_tensor last = half.sub(2).sub(0);
        whole = {};
        REQUIRE(r.execute({last}, {results.sub(7)}) == pm::run_status::ok);
        const std::vector<float> got = values_of<float>(results), wanted = shifted(values);
        CHECK(std::equal(got.begin(), got.begin() + 32, wanted.begin() + 32));
        CHECK(std::equal(got.begin() + 56, got.end(), wanted.begin() + 48));
        // Rows that begin where no kernel could read are refused, as is memory that overlaps.
        pm::tensor_info odd = batch;
        odd.shape = {3, 1};
        CHECK(code_of([&] { pm::runner_tensor(home, odd, kind).sub(1); }) ==
              pm::errc::invalid_argument);
        CHECK(r.execute({results.sub(1)}, {results.sub(1)}) == pm::run_status::invalid_argument);
        CHECK(std::string(pm::run_message()).find("share memory") != std::string::npos);
    }
}

TEST_CASE("runner tensor: memory of the caller's is used where it lies and stays his") {
    const pm::context home;
    pm::runner_options o;
    o.input_view = o.output_view = io_view::hardware;
    const pm::runner r = shifting(home, {1024}, o);
    const std::vector<float> values = counting(1024, 1);
    std::vector<float> own(8 * 1024);
    std::byte* const page = reinterpret_cast<std::byte*>(own.data()) +
                            (4096 - reinterpret_cast<std::uintptr_t>(own.data()) % 4096) % 4096;
    float* const in = reinterpret_cast<float*>(page);
    float* const out = in + 2048;
    std::copy(values.begin(), values.end(), in);
    {
        const pm::runner_tensor_view x = r.import_host("x", in), y = r.import_host("output0", out);
        CHECK(x.data_as<float>() == in);
        REQUIRE(r.execute({x}, {y}) == pm::run_status::ok);
        CHECK(std::equal(out, out + 1024, shifted(values).begin()));
        CHECK(code_of([&] { r.import_host("x", page + 4); }) == pm::errc::invalid_argument);
    }
    CHECK(std::equal(values.begin(), values.end(), in));

    // What one context exports another one imports, as another process does.
    const pm::context other;
    const pm::runner_tensor y = r.allocate("output0", memory_kind::fd);
    const pm::runner_tensor x = r.allocate("x");
    x.write(bytes_of(values));
    REQUIRE(r.execute({x}, {y}) == pm::run_status::ok);
    const int fd = y.export_fd();
    REQUIRE(fd >= 0);
    const auto seen = pm::runner_tensor_view::import_fd(other, y.info(), fd);
    close(fd);
    CHECK(values_of<float>(seen) == shifted(values));
    seen.write(bytes_of(values));
    CHECK(values_of<float>(y) == values);
}
