// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/base/huge_pages.hpp>

#include <tests/support/skip.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

using namespace pumice;

namespace {

struct deleter {
    void operator()(void* block) const noexcept { ::operator delete(block); }
};
using owned_block = std::unique_ptr<void, deleter>;

#if defined(__linux__)
/// The flags of the mapping that an address lies in, as the kernel tells them.
std::string flags_at(const void* address) {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    std::ifstream maps("/proc/self/smaps");
    bool within = false;
    for (std::string line; std::getline(maps, line);) {
        std::uintptr_t first = 0, last = 0;
        char dash = 0;
        if (std::istringstream(line) >> std::hex >> first >> dash >> last && dash == '-')
            within = first <= at && at < last;
        if (within && line.rfind("VmFlags:", 0) == 0) return line.substr(8) + " ";
    }
    return {};
}
#endif

}  // namespace

TEST_CASE("new_block: all sizes around a huge page can be written from end to end") {
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, detail::huge_page - 1,
                                   detail::least_on_huge_pages - 1, detail::least_on_huge_pages,
                                   detail::least_on_huge_pages + 1, 5 * detail::huge_page + 4097}) {
        const owned_block block(detail::new_block(size));
        REQUIRE(block);
        std::memset(block.get(), 7, size);
        if (size > 0) CHECK(static_cast<char*>(block.get())[size - 1] == 7);
    }
}

TEST_CASE("new_block: null where no memory is") {
    CHECK_FALSE(owned_block(detail::new_block(~std::size_t{0} >> 2)));
}

#if defined(__linux__)
TEST_CASE("new_block: the kernel is asked for huge pages within what is large") {
    if (!std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled"))
        PUMICE_SKIP("huge-pages", "this kernel has none");
    const owned_block large(detail::new_block(8 * detail::huge_page));
    REQUIRE(large);
    CHECK(flags_at(static_cast<char*>(large.get()) + 4 * detail::huge_page).find(" hg ") !=
          std::string::npos);
}
#endif
