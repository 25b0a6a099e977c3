// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/safetensors.h"

#include <Eigen/Core>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "tests/test_folder.h"

namespace orrery {
namespace {

std::string error_of(const std::filesystem::path& path, const std::string& text) {
    write_text(path, text);
    const auto file = Safetensors::open(path);
    return file ? "" : file.error().to_string();
}

std::string with_length(const std::string& header, const std::string& data = {}) {
    const std::uint64_t length = header.size();
    std::string text(8, '\0');
    std::memcpy(text.data(), &length, 8);
    return text + header + data;
}

std::vector<TensorToStore> two_tensors(const std::vector<float>& a,
                                       const std::vector<std::byte>& b) {
    return {{"a", "F32", {3, 1}, std::as_bytes(std::span{a})}, {"b", "BF16", {2}, b}};
}

TEST(Safetensors, AreReadAsTheyWereWritten) {
    const TestFolder folder;
    const std::vector<float> a{1.5f, -0.0f, std::bit_cast<float>(0x7FC00001U)};
    const std::vector<float> b{3.0f, -65504.0f};
    const auto stored = stored_floats(b, "BF16");
    ASSERT_TRUE(write_safetensors(disk(), folder / "f", two_tensors(a, stored), {{"k", "v"}}));
    const auto file = Safetensors::open(folder / "f");
    ASSERT_TRUE(file) << file.error().to_string();
    EXPECT_EQ(file->metadata().at("k"), "v");
    ASSERT_EQ(file->tensors().size(), 2U);
    ASSERT_NE(file->find("a"), nullptr);
    EXPECT_EQ(file->find("c"), nullptr);
    EXPECT_EQ(file->find("a")->shape, (std::vector<std::int64_t>{3, 1}));
    const auto bytes = file->bytes(*file->find("a"));
    EXPECT_EQ(std::memcmp(bytes.data(), a.data(), 12), 0);
    EXPECT_EQ(*file->floats(*file->find("b")), (std::vector<float>{3.0f, -65536.0f}));
}

// The format as an independent reader has it: offsets written out by hand.
TEST(Safetensors, HaveThePublishedForm) {
    const TestFolder folder;
    const std::string data{"\x00\x00\x80\x3f\x00\x3c", 6};
    write_text(folder / "f",
               with_length(R"({"h":{"dtype":"F16","shape":[1],"data_offsets":[4,6]},)"
                           R"("s":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}    )",
                           data));
    const auto file = Safetensors::open(folder / "f");
    ASSERT_TRUE(file) << file.error().to_string();
    EXPECT_EQ(*file->floats(*file->find("s")), std::vector<float>{1.0f});
    EXPECT_EQ(*file->floats(*file->find("h")), std::vector<float>{1.0f});
}

TEST(Safetensors, BrokenFilesAreErrors) {
    const TestFolder folder;
    const auto path = folder / "f";
    EXPECT_NE(error_of(path, "short").find("it is too short"), std::string::npos);
    EXPECT_NE(error_of(path, std::string(8, '\xff')).find("header is too long"), std::string::npos);
    EXPECT_NE(error_of(path, with_length("{}").substr(0, 9)).find("it is cut short"),
              std::string::npos);
    EXPECT_NE(error_of(path, with_length("{]")).find("not a JSON object"), std::string::npos);
    EXPECT_EQ(error_of(path, with_length("{}")), "");
    EXPECT_NE(error_of(path, "").find("is empty"), std::string::npos);
}

// Whatever bytes a good file loses or changes, opening it and reading its floats ends.
TEST(Safetensors, NoDamageCrashesTheReader) {
    const TestFolder folder;
    const std::vector<float> a{1, 2, 3};
    const auto b = stored_floats(std::vector<float>{4, 5}, "BF16");
    ASSERT_TRUE(write_safetensors(disk(), folder / "f", two_tensors(a, b), {{"k", "v"}}));
    const std::string good = read_text(folder / "f");
    const auto read_all = [&](const std::string& text) {
        write_text(folder / "g", text);
        const auto file = Safetensors::open(folder / "g");
        for (std::size_t i = 0; file && i < file->tensors().size(); ++i) {
            const auto ignored = file->floats(file->tensors()[i]);
        }
        return static_cast<bool>(file);
    };
    for (std::size_t length = 0; length < good.size(); ++length) {
        EXPECT_FALSE(read_all(good.substr(0, length))) << length;
    }
    constexpr std::uint32_t kSeed = 5;
    std::mt19937 random{kSeed};
    for (int i = 0; i < 400; ++i) {
        std::string text = good;
        for (int change = 0; change < 3; ++change) {
            text[random() % text.size()] = static_cast<char>(random() % 256);
        }
        read_all(text);
    }
}

TEST(Safetensors, IntegersAreNoWeights) {
    const TestFolder folder;
    const std::vector<std::byte> bytes(4);
    ASSERT_TRUE(write_safetensors(disk(), folder / "f", {{"i", "I32", {1}, bytes}}));
    const auto file = Safetensors::open(folder / "f");
    ASSERT_TRUE(file);
    EXPECT_EQ(file->floats(*file->find("i")).error().what, "tensor 'i' is of type I32");
}

TEST(Fp16, EveryNumberIsWidenedAsEigenDoes) {
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
        const auto half = static_cast<std::uint16_t>(bits);
        const auto expected = static_cast<float>(Eigen::numext::bit_cast<Eigen::half>(half));
        const float value = float_of_fp16(half);
        if (std::isnan(expected)) {
            EXPECT_TRUE(std::isnan(value)) << bits;
        } else {
            EXPECT_EQ(std::bit_cast<std::uint32_t>(value), std::bit_cast<std::uint32_t>(expected));
            EXPECT_EQ(fp16_of_float(value), half);
        }
    }
}

TEST(Fp16, RoundsToNearestTiesToEven) {
    constexpr std::uint32_t kSeed = 11;
    std::mt19937 random{kSeed};
    for (int i = 0; i < 200000; ++i) {
        // Around and beyond fp16's range: exponents 2^-30 to 2^17.
        const auto exponent = static_cast<std::uint32_t>(97 + random() % 48);
        const std::uint32_t fraction =
            i % 2 == 0 ? random() & 0x7FFFFFU : random() & 0x7FF000U;  // ties, too
        const auto bits =
            static_cast<std::uint32_t>((random() & 1U) << 31 | exponent << 23 | fraction);
        const float value = std::bit_cast<float>(bits);
        const auto expected = Eigen::numext::bit_cast<std::uint16_t>(Eigen::half(value));
        ASSERT_EQ(fp16_of_float(value), expected) << value << ", seed " << kSeed;
    }
    EXPECT_EQ(fp16_of_float(65519.0f), 0x7BFF);
    EXPECT_EQ(fp16_of_float(65520.0f), 0x7C00);
    EXPECT_EQ(fp16_of_float(-1e30f), 0xFC00);
    EXPECT_EQ(fp16_of_float(std::nanf("")) & 0x7C00, 0x7C00);
    EXPECT_NE(fp16_of_float(std::nanf("")) & 0x3FF, 0);
}

}  // namespace
}  // namespace orrery
