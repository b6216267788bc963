// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/exchange/fd.hpp>
#include <pumice/exchange/save.hpp>

#include <pumice.hpp>

#include <tests/exchange/support.hpp>
#include <tests/support/skip.hpp>

#include <filesystem>

#if defined(__linux__)
#include <tests/exchange/cuda.hpp>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

namespace pm = pumice;
using namespace pumice_test;
using pm::errc;

namespace {

/// An exported tensor, whose descriptor goes with it.
struct exported {
    pm::fd_memory memory;
    explicit exported(const pm::any_tensor& x) : memory(pm::to_fd(x)) {
        CHECK(memory.fd >= 0);
        CHECK(memory.bytes >= x.size_bytes());
        CHECK(memory.offset == 0);
    }
    exported(const exported&) = delete;
    ~exported() { close(memory.fd); }
};
std::ptrdiff_t open_descriptors() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

}  // namespace

TEST_CASE("fd: each type and shape goes out and comes back, in this context and in another") {
    const pm::context other;
    std::ptrdiff_t before = 0;
    for (int round = 0; round < 2; ++round) {
        for (std::size_t row = 0; row < pm::dtype_table.size(); ++row)
            for (const pm::shape& s :
                 {pm::shape{}, pm::shape{5}, pm::shape{2, 0}, pm::shape{2, 3, 4}}) {
                const auto type = static_cast<pm::dtype>(row);
                const pm::any_tensor x = pm::flip(numbers(type, s));  // no row-major memory
                const exported e(x);
                const auto bytes = pm::detail::bytes_of(x);
                for (const pm::context& home : {pm::default_context(), other}) {
                    const pm::any_tensor y = pm::from_fd(e.memory, type, s, home);
                    CHECK(y.get()->owner == home.get());
                    CHECK(y.dtype() == type);
                    CHECK(y.shape() == s);
                    CHECK(pm::detail::bytes_of(y) == bytes);
                }
            }
        if (round == 0) before = open_descriptors();
    }
    CHECK(open_descriptors() == before);
}

TEST_CASE("fd: what was exported is a value, and so is what was imported") {
    const std::uint64_t downloads = pm::stats().downloads;
    pm::vector<float> x = {1, 2, 3, 4, 5, 6};
    const exported e(x * 2.0f);
    x += 1.0f;
    const pm::any_tensor y = pm::from_fd(e.memory, pm::dtype::f32, {2, 3});
    pm::any_tensor z = y;
    z = pm::detail::copied(z * 3.0);
    pm::fd_memory part = e.memory;
    part.offset = 16;
    const pm::any_tensor tail = pm::from_fd(part, pm::dtype::f32, {2});
    CHECK(pm::stats().downloads == downloads);
    CHECK(pm::to_vector<float>(tail) == std::vector<float>{10, 12});
    CHECK(pm::to_vector<float>(y) == std::vector<float>{2, 4, 6, 8, 10, 12});
    CHECK(pm::to_vector<float>(pm::from_fd(e.memory, pm::dtype::f32, {3, 2})) ==
          pm::to_vector<float>(y));
    // It lives as long as a descriptor of it.
    pm::fd_memory later = e.memory;
    {
        const exported short_lived(pm::full(pm::dtype::i32, {100}, 7));
        later = short_lived.memory;
        later.fd = dup(short_lived.memory.fd);
    }
    CHECK(pm::to_vector<int>(pm::from_fd(later, pm::dtype::i32, {100})) ==
          std::vector<int>(100, 7));
    close(later.fd);
}

TEST_CASE("fd: CUDA reads what was exported, and what it writes there is imported") {
    const cuda api;
    if (!api.is_there()) PUMICE_SKIP("cuda", "this machine has no CUDA device");
    if (pm::default_context().device().type == pm::device_type::host)
        PUMICE_SKIP("vulkan-device", "CUDA imports memory of a device's");
    for (const std::int64_t n : {1, 1000, 5000000}) {
        const pm::vector<float> x = pm::arange<float>(static_cast<double>(n)) * 0.5f;
        const exported e(x);
        const cuda::imported there(api, dup(e.memory.fd), e.memory.bytes);
        std::vector<float> seen(static_cast<std::size_t>(n));
        there.read(e.memory.offset, std::as_writable_bytes(std::span(seen)));
        CHECK(seen == x.to_vector());
        for (float& v : seen) v += 1;
        there.write(e.memory.offset, std::as_bytes(std::span(seen)));
        CHECK(pm::to_vector<float>(pm::from_fd(e.memory, pm::dtype::f32, {n})) == seen);
        CHECK(x.to_vector()[0] == 0);  // what was exported is a copy
    }
}

TEST_CASE("fd: as a dma-buf, where the driver has it") {
    const pm::any_tensor x = numbers(pm::dtype::f32, {8});
    pm::fd_memory m;
    try {
        m = pm::to_fd(x, true);
    } catch (const pm::error& e) {
        CHECK(e.code() == errc::unsupported);
        return;
    }
    CHECK(m.dma_buf);
    CHECK(pm::to_vector<float>(pm::from_fd(m, pm::dtype::f32, {8})) == pm::to_vector<float>(x));
    close(m.fd);
}

TEST_CASE("fd: what cannot be is refused by name") {
    const exported e(numbers(pm::dtype::f32, {8}));
    const auto refused = [&](errc code, const auto& change, const pm::shape& s = {8}) {
        pm::fd_memory m = e.memory;
        change(m);
        CHECK(code_of([&] { pm::from_fd(m, pm::dtype::f32, s); }) == code);
    };
    using memory = pm::fd_memory;
    refused(errc::invalid_argument, [](memory& m) { m.fd = -1; });
    refused(errc::unsupported, [](memory& m) { m.fd = 12345; });
    refused(errc::unsupported, [](memory& m) { m.bytes = std::int64_t{1} << 50; });
    refused(errc::invalid_argument, [](memory& m) { m.bytes = 31; });
    refused(errc::invalid_argument, [](memory& m) { m.bytes = m.offset = 32; });
    refused(errc::invalid_argument, [](memory& m) { m.offset = -16; });
    refused(errc::invalid_argument, [](memory& m) { m.offset = 4; }, {4});
    refused(errc::size_overflow, [](memory&) {}, {std::int64_t{1} << 62, 4});
    const pm::context null{pm::null_device{pm::default_context().device()}};
    CHECK(code_of([&] { pm::to_fd(pm::zeros(pm::dtype::f32, {3}, null)); }) == errc::unsupported);
    CHECK(code_of([&] { pm::from_fd(e.memory, pm::dtype::f32, {8}, null); }) == errc::unsupported);
    const pm::context host{pm::host_only{}};
    CHECK(code_of([&] { pm::to_fd(pm::zeros(pm::dtype::f32, {3}, host), true); }) ==
          errc::unsupported);
    const std::ptrdiff_t before = open_descriptors();
    CHECK(code_of([&] { pm::to_fd(pm::zeros(pm::dtype::f32, {3}, host), true); }) ==
          errc::unsupported);
    CHECK(open_descriptors() == before);
}

TEST_CASE("fd: nobody waits for a pipe, a socket, a folder or events, nor moves in a file") {
    int pipe_ends[2], sockets[2];
    REQUIRE(pipe(pipe_ends) == 0);
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
    const int folder = open("/", O_RDONLY), events = eventfd(0, 0);
    for (const int fd : {pipe_ends[0], pipe_ends[1], sockets[0], folder, events}) {
        CHECK(code_of([&] { pm::from_fd({fd, 64, 0}, pm::dtype::f32, {4}); }) == errc::unsupported);
        CHECK(code_of([&] { pm::from_fd({fd, 64, 0, true}, pm::dtype::f32, {4}); }) ==
              errc::unsupported);
    }
    for (const int fd : {pipe_ends[0], pipe_ends[1], sockets[0], sockets[1], folder, events})
        close(fd);

    const pm::context host{pm::host_only{}};
    const int file = memfd_create("file", 0);
    REQUIRE(ftruncate(file, 4096) == 0);
    lseek(file, 5, SEEK_SET);
    CHECK(pm::to_vector<float>(pm::from_fd({file, 64, 0}, pm::dtype::f32, {4}, host)) ==
          std::vector<float>(4));
    CHECK(lseek(file, 0, SEEK_CUR) == 5);
    close(file);
}

TEST_CASE("fd: threads hand each other memory") {
    hand_over_in_threads([](const pm::any_tensor& x, int n) {
        const exported e(x + n);
        return pm::from_fd(e.memory, pm::dtype::i32, {40, 50});
    });
}

#endif
