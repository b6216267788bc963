// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Files that are no model, or no longer: the message names the file and what is wrong with it.
// (That no damage does worse is in onnx/reader.cpp and onnx/resolve.cpp.)
#include <pumice/model.hpp>

#include <tests/model/support.hpp>

using namespace pumice_test;
using pumice::errc;
using pumice::model;

namespace {

void refused(const std::filesystem::path& path, errc code,
             std::initializer_list<std::string_view> words) {
    const auto home = storing_context();
    const auto [is, text] = thrown_by([&] { model::load(path, home); });
    CHECK_MESSAGE(is == code, pumice::to_string(is) << ": " << text);
    CHECK_MESSAGE(contains(text, path.filename().string()), text);
    for (const std::string_view word : words)
        CHECK_MESSAGE(contains(text, word), "no \"" << word << "\" in " << text);
    const auto tried = model::try_load(path, home);
    REQUIRE_FALSE(tried.has_value());
    CHECK(tried.error().what() == text);
    CHECK(home.stats().uploads == 0);
}

}  // namespace

TEST_CASE("broken files: each says which file it is and what is wrong with it") {
    const temporary_folder folder;
    const std::vector<std::byte> whole = slurp(data("models/mnist-12.onnx"));
    const std::string bytes(reinterpret_cast<const char*>(whole.data()), whole.size());
    refused(folder.path() / "none.onnx", errc::io_failed, {"No such file"});
    refused(folder.path(), errc::io_failed, {"not a regular file"});
    refused(folder.write("empty.onnx", ""), errc::bad_file, {"empty"});
    refused(folder.write("half.onnx", bytes.substr(0, bytes.size() / 2)), errc::bad_file,
            {"offset", "ends"});
    refused(folder.write("text.onnx", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n"),
            errc::bad_file, {"Git LFS"});
    refused(folder.write("garbage.onnx", std::string(5000, '\xee')), errc::bad_file, {"offset"});
    refused(folder.write("model.pt", std::string("PK\x03\x04", 4) + std::string(100, '\0')),
            errc::bad_file, {"zip"});
    refused(folder.write("model.gguf", std::string("GGUF\x03\0\0\0", 8) + std::string(100, '\0')),
            errc::bad_file, {"GGUF"});
    refused(folder.write("model.vgf", std::string("VGF1", 4) + std::string(124, '\0')),
            errc::unsupported, {"VGF", "pumice::vgf"});
    refused(data("models/0.png"), errc::bad_file, {"PNG"});
}
