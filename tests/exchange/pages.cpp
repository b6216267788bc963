// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The examples of docs/reference/exchange.md, as those of tests/pages.
#include <pumice/exchange/dlpack.hpp>
#include <pumice/exchange/eigen.hpp>
#include <pumice/exchange/fd.hpp>
#include <pumice/exchange/image.hpp>
#include <pumice/exchange/mdspan.hpp>
#include <pumice/exchange/npz.hpp>

#include <pumice.hpp>

#include <tests/exchange/support.hpp>
#include <tests/pages/shows.hpp>

#include <unistd.h>

namespace pm = pumice;

using window = pumice_test::other_mdspan<const float, 2>;

// clang-format off: lines as the pages show them

// page: exchange
TEST_CASE("pages: exchange") {
    pm::matrix<float> x = {{1, 2}, {3, 4}};
    const std::filesystem::path npy = std::filesystem::temp_directory_path() / "pumice_page.npy";
    const std::filesystem::path npz = std::filesystem::temp_directory_path() / "pumice_page.npz";
    //
    pm::save(npy, x + 1.0f);
    SHOWS("[[2. 3.] [4. 5.]]", pm::load<float, 2>(npy));
    SHOWS("f32", pm::load(npy).dtype());
    pm::save_npz(npz, {{"x", x}, {"y", pm::vector<int>{7}}}, pm::npz_entries::deflated);
    const pm::named_tensors all = pm::load_npz(npz, pm::npz_limits{.bytes = 1 << 20, .arrays = 16});
    SHOWS("[7]", all.at("y"));
    const std::filesystem::path png = std::filesystem::temp_directory_path() / "pumice_page.png";
    pm::save_image(png, pm::matrix<std::uint8_t>{{0, 255}});
    SHOWS("[[[0] [255]]]", pm::load_image(png));  // (height, width, channels)
    std::filesystem::remove(png);
    std::filesystem::remove(npy);
    std::filesystem::remove(npz);
    pm::dlpack::managed_tensor_versioned* lent = pm::to_dlpack(x, pm::dlpack_access::writable);
    const pm::dlpack::plain_tensor& plain = lent->dl_tensor;  // where its elements lie on the host
    SHOWS("true", plain.device.device_type == pm::dlpack::cpu && lent->flags == pm::dlpack::flag_is_copied);
    SHOWS("true", pm::dlpack_struct<pm::dlpack::managed_tensor>);  // so is one of <dlpack/dlpack.h>
    SHOWS("[[1. 2.] [3. 4.]]", pm::from_dlpack(lent));  // calls its deleter
    const auto on_device = [&] { return pm::to_dlpack(x, pm::dlpack_access::read_only, pm::dlpack::vulkan); };
    static_cast<void>(on_device);
    const pm::fd_memory handed = pm::to_fd(x);  // another process or API imports handed.fd, of handed.bytes
    SHOWS("[[1. 2.] [3. 4.]]", pm::from_fd(handed, pm::dtype::f32, {2, 2}));
    close(handed.fd);
    SHOWS("3", pm::as_eigen(x)(1, 0));  // an Eigen::Map of what is const
    pm::as_eigen_mut(x) *= 2;
    SHOWS("[[2. 6.] [4. 8.]]", pm::from_eigen(pm::as_eigen(x).transpose()));
    const window shown = pm::as_mdspan<window>(x);  // std::mdspan where the standard library has it
    SHOWS("true", pm::mdspan_like<window> && shown.data_handle() == x.host().data());
    SHOWS("[[2. 4.] [6. 8.]]", pm::from_mdspan(shown));
}
