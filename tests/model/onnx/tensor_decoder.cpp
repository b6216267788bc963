// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include <pumice/model/onnx/tensor_decoder.hpp>

#include <tests/model/support.hpp>

using namespace pumice_test;
using pumice::any_tensor;
using pumice::dtype;
using pumice::errc;
namespace onnx = pumice::onnx;

namespace {

any_tensor decode(const message& m, const std::filesystem::path& folder = {},
                  const pumice::model_limits& limits = {}) {
    onnx::source from = source_of(m);
    from.folder = folder;
    from.has_folder = !folder.empty();
    return onnx::tensor_decoder(from, limits)(onnx::read_tensor(from, from.bytes, limits));
}

std::string raw(std::size_t n) { return std::string(n, '\1'); }

message external(const std::vector<std::int64_t>& dims, const std::string& location,
                 const std::string& offset = "", const std::string& length = "") {
    message m = tensor_of("w", 1, dims);
    m.put(13, message{}.text(1, "location").text(2, location));
    if (!offset.empty()) m.put(13, message{}.text(1, "offset").text(2, offset));
    if (!length.empty()) m.put(13, message{}.text(1, "length").text(2, length));
    return m.number(14, 1);
}

}  // namespace

TEST_CASE("onnx/tensor_decoder: raw data stays where it is") {
    const message m = tensor_of("w", 1, {2, 2}).text(9, raw(16));
    const onnx::source from = source_of(m);
    const any_tensor t = onnx::tensor_decoder(from, {})(onnx::read_tensor(from, from.bytes));
    const auto bytes = pumice::constant_of(t)->bytes();
    CHECK(bytes.size() == 16);
    CHECK(bytes.data() >= from.bytes.data());
    CHECK(bytes.data() + 16 <= from.bytes.data() + from.bytes.size());
}

TEST_CASE("onnx/tensor_decoder: typed fields of every type, packed and not") {
    CHECK(pumice::constant_values<float>(decode(floats("", {3}, {1, 2.5f, -3}))) ==
          std::vector<float>{1, 2.5f, -3});
    CHECK(pumice::constant_values<float>(decode(tensor_of("", 1, {2}).real(4, 1).real(4, 2))) ==
          std::vector<float>{1, 2});
    CHECK(pumice::constant_values<std::int64_t>(decode(longs("", {2}, {-1, 1LL << 40}))) ==
          std::vector<std::int64_t>{-1, 1LL << 40});
    CHECK(pumice::constant_values<std::int64_t>(decode(tensor_of("", 7, {1}).number(7, -9))) ==
          std::vector<std::int64_t>{-9});
    for (std::int64_t type : {2, 3, 4, 5, 6, 9}) {
        const any_tensor t = decode(tensor_of("", type, {2}).numbers(5, {1, 0}));
        CHECK(pumice::constant_values<std::int32_t>(t) == std::vector<std::int32_t>{1, 0});
    }
    CHECK(pumice::constant_values<std::int32_t>(decode(tensor_of("", 3, {1}).numbers(5, {-7}))) ==
          std::vector<std::int32_t>{-7});
    CHECK(pumice::constant_values<float>(decode(tensor_of("", 10, {1}).numbers(5, {0x3e00}))) ==
          std::vector<float>{1.5f});
    CHECK(pumice::constant_values<float>(decode(tensor_of("", 16, {1}).numbers(5, {0x3fc0}))) ==
          std::vector<float>{1.5f});
    CHECK(pumice::constant_values<std::int64_t>(decode(tensor_of("", 12, {1})
                                                           .numbers(11, {4000000000}))) ==
          std::vector<std::int64_t>{4000000000});
    CHECK(pumice::constant_values<std::int64_t>(decode(tensor_of("", 13, {1}).number(11, 5))) ==
          std::vector<std::int64_t>{5});
    std::string d;
    protozero::pbf_writer(d).add_double(10, 0.1);
    CHECK(pumice::constant_values<double>(decode(message{tensor_of("", 11, {1}).bytes + d})) ==
          std::vector<double>{0.1});
    CHECK(decode(floats("", {}, {7})).shape() == pumice::shape{});
    CHECK(decode(floats("", {2, 0, 3}, {})).size() == 0);
    CHECK(decode(tensor_of("", 1, {0})).size() == 0);
}

TEST_CASE("onnx/tensor_decoder: a bool is 0 or 1 in memory, whatever the file holds") {
    const any_tensor t = decode(tensor_of("", 9, {3}).text(9, std::string("\0\1\xff", 3)));
    CHECK(std::to_integer<int>(pumice::constant_of(t)->bytes()[2]) == 1);
}

TEST_CASE("onnx/tensor_decoder: sizes that lie are refused before memory is taken") {
    const std::int64_t big = std::int64_t(1) << 40;
    for (const message& m :
         {tensor_of("w", 1, {2, 2}).text(9, raw(15)), tensor_of("w", 1, {2, 2}).text(9, raw(17)),
          tensor_of("w", 1, {2, 2}), tensor_of("w", 1, {-1}).text(9, raw(4)),
          floats("w", {3}, {1, 2}), floats("w", {1}, {1, 2}), floats("w", {big}, {1}),
          longs("w", {big, big}, {1}), tensor_of("w", 1, {big, big, big}),
          tensor_of("w", 1, {0, big, big}), tensor_of("w", 1, {1LL << 62}).text(9, raw(0)),
          tensor_of("w", 1, {1, 1, 1, 1, 1, 1, 1, 1, 1}).text(9, raw(4)),
          tensor_of("w", 0, {1}).text(9, raw(4)), tensor_of("w", 77, {1}).text(9, raw(4)),
          tensor_of("w", -5, {1}), tensor_of("w", 1, {1}).put(3, message{}).text(9, raw(4)),
          longs("w", {1}, {1}).number(2, 6), tensor_of("w", 1, {1}).text(4, raw(3))}) {
        const auto [code, what] = thrown_by([&] { decode(m); });
        CHECK_MESSAGE(code == errc::bad_file, what);
        CHECK(contains(what, "\"w\""));
    }
    pumice::model_limits limits;
    limits.typed_bytes = 8;
    CHECK(thrown_by([&] { decode(floats("w", {3}, {1, 2, 3}), {}, limits); }).first ==
          errc::bad_file);
    CHECK(thrown_by([&] { decode(tensor_of("w", 8, {1})); }).first == errc::unsupported);  // text
    CHECK(thrown_by([&] { decode(tensor_of("w", 23, {1})); }).first ==
          errc::unsupported);  // FLOAT4E2M1
}

TEST_CASE("onnx/tensor_decoder: external data from beneath the model's folder") {
    temporary_folder folder, outside;
    folder.write("w.bin", std::string(4, '\0') + raw(8));
    outside.write("secret", raw(8));
    CHECK(decode(external({2}, "w.bin", "4", "8"), folder.path()).size() == 2);
    CHECK(decode(external({2}, "w.bin", "4"), folder.path()).size() == 2);
    CHECK(decode(external({3}, "w.bin"), folder.path()).size() == 3);
    const std::string above = "../" + outside.path().filename().string() + "/secret",
                      number = "18446744073709551616";
    std::filesystem::create_symlink(outside.path() / "secret", folder.path() / "link");
    for (const message& m :
         {external({2}, above), external({2}, (outside.path() / "secret").string()),
          external({2}, ""), external({2}, "w.bin", "5"), external({2}, "w.bin", "-4"),
          external({2}, "w.bin", "4", "4"), external({2}, "w.bin", "4", "9"),
          external({2}, "w.bin", "9223372036854775807", "8"), external({2}, "w.bin", number),
          external({2}, "w.bin", "4x"), external({2}, "w.bin").text(9, raw(8)),
          external({1LL << 60}, "w.bin")}) {
        const auto [code, what] = thrown_by([&] { decode(m, folder.path()); });
        CHECK_MESSAGE(code == errc::bad_file, what);
    }
    CHECK(thrown_by([&] { decode(external({2}, "link"), folder.path()); }).first ==
          errc::io_failed);
    CHECK(thrown_by([&] { decode(external({2}, "missing"), folder.path()); }).first ==
          errc::io_failed);
    CHECK(thrown_by([&] { decode(external({2}, "w.bin")); }).first ==
          errc::bad_file);  // a model from memory has no folder
}
