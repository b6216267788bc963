// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/base/file_name.hpp>

#include <tests/support/files.hpp>

namespace fs = std::filesystem;
using pumice::detail::behind_links;

TEST_CASE("file name: new ones differ, and a link's is that of what it leads to") {
    CHECK(pumice::detail::unique_name() != pumice::detail::unique_name());
    const pumice_test::temporary_folder folder;
    const fs::path at = folder.path(), file = folder.write("file", "text");
    CHECK(behind_links(file) == file);
    CHECK(behind_links(at / "none") == at / "none");
    CHECK(behind_links("none") == "none");
    fs::create_symlink("file", at / "near");  // beside the link
    fs::create_symlink(at / "near", at / "far");
    fs::create_symlink("none", at / "open");
    CHECK(behind_links(at / "near") == file);
    CHECK(behind_links(at / "far") == file);
    CHECK(behind_links(at / "open") == at / "none");
    fs::create_symlink("round", at / "round");
    CHECK(behind_links(at / "round") == at / "round");  // and comes back
}
