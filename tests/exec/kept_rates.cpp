// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Rates are measured once for each device and driver; what is damaged, another's or a policy's is
// not taken for them.
#include <pumice.hpp>
#include <pumice/kept_rates.hpp>

#include <tests/support/scope.hpp>
#include <tests/support/skip.hpp>

#include <doctest/doctest.h>

#include <fstream>

namespace pm = pumice;
namespace fs = std::filesystem;

namespace {

/// A cache folder of its own, gone at the end.
struct own_folder {
    fs::path path = fs::temp_directory_path() / ("pumice-rates-" + pm::detail::unique_name());
    ~own_folder() {
        std::error_code ignored;
        fs::remove_all(path, ignored);
    }
    template <class... Policies>
    pm::context open(const Policies&... more) const {
        return pm::context(pm::cache_folder{path.string()}, more...);
    }
    /// Files that hold kept rates.
    std::vector<fs::path> kept() const {
        std::vector<fs::path> found;
        for (const fs::directory_entry& e : fs::recursive_directory_iterator(path)) {
            if (!e.is_regular_file()) continue;
            std::ifstream file(e.path(), std::ios::binary);
            const std::string text((std::istreambuf_iterator<char>(file)), {});
            if (text.find("device rates, version") != text.npos) found.push_back(e.path());
        }
        return found;
    }
};
std::uint64_t dispatches(const pm::context& c) { return c.stats().dispatches; }
bool same(const pm::device_rates& a, const pm::device_rates& b) {
    return std::memcmp(&a, &b, sizeof a) == 0;
}

}  // namespace

TEST_CASE("kept_rates: what is there is taken, and measured where it is damaged or on request") {
    const own_folder folder;
    const pm::context home = folder.open();
    if (home.device().type == pm::device_type::host)
        PUMICE_SKIP("vulkan-device", "of the host nothing is kept");
    const pm::device_rates told{1e9, 2e9, 3e9, 1e-3, 1e-6, 64, 1e6};
    pm::disk_cache(folder.path)
        .write(pm::detail::key_of_rates(home.device()), home.device().driver,
               std::string(reinterpret_cast<const char*>(&told), sizeof told));
    REQUIRE(folder.kept().size() == 1);
    CHECK(same(pm::kept_rates(home), told));
    CHECK(dispatches(home) == 0);

    const fs::path file = folder.kept()[0];
    fs::resize_file(file, fs::file_size(file) - 1);
    const pm::device_rates measured = pm::kept_rates(home);
    CHECK_FALSE(same(measured, told));
    const pm::context second = folder.open();
    CHECK(same(pm::kept_rates(second), measured));
    CHECK(dispatches(second) == 0);
    CHECK(pm::kept_rates(second, true).known());
    CHECK(dispatches(second) > 0);
    CHECK(folder.kept().size() == 1);
}

TEST_CASE("kept_rates: nothing is kept where a policy or the user decides, nor of the host") {
    const own_folder folder;
    CHECK_FALSE(pm::detail::keeps_rates(folder.open(pm::host_only{})));
    const pm::device_rates told{1e9, 1e9, 0, 1e-3, 1e-6, 64, 1e6};
    CHECK_FALSE(pm::detail::keeps_rates(folder.open(pm::portable{})));
    CHECK_FALSE(pm::detail::keeps_rates(folder.open(pm::measured_rates{told})));
    CHECK(pm::detail::keeps_rates(pm::context(pm::null_device{})));
}

TEST_CASE(
    "kept_rates: another device or driver has another key, and no number that is none counts") {
    pm::device_info one;
    one.name = "one";
    one.driver = "a driver 1.0";
    pm::device_info other = one;
    CHECK(pm::detail::key_of_rates(one) == pm::detail::key_of_rates(other));
    other.driver_version = 2;
    CHECK(pm::detail::key_of_rates(one) != pm::detail::key_of_rates(other));
    other = one;
    other.device_uuid[15] = 1;
    CHECK(pm::detail::key_of_rates(one) != pm::detail::key_of_rates(other));

    const auto payload = [](std::array<double, 7> v) {
        return std::string(reinterpret_cast<const char*>(v.data()), sizeof v);
    };
    CHECK(pm::detail::rates_from(payload({1, 2, 3, 4, 5, 6, 7})).known());
    CHECK_FALSE(pm::detail::rates_from(payload({-1, 2, 3, 4, 5, 6, 7})).known());
    CHECK_FALSE(pm::detail::rates_from(payload({1, NAN, 3, 4, 5, 6, 7})).known());
    CHECK_FALSE(pm::detail::rates_from(payload({1, 2, 3, 0, 5, 6, 7})).known());
    CHECK_FALSE(pm::detail::rates_from(payload({1, 2, 3, 4, 5, 6, 7}).substr(8)).known());
    CHECK_FALSE(pm::detail::rates_from(std::nullopt).known());
}
