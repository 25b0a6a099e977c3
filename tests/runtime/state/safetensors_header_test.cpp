// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/safetensors_header.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

std::string error_of(const std::string& json, std::int64_t data_bytes) {
    const auto header = parse_safetensors_header(json, data_bytes);
    return header ? "" : header.error().what;
}

std::string tensor(const std::string& name,
                   const std::string& offsets,
                   const std::string& shape = "[2]",
                   const std::string& type = "\"F32\"") {
    return "\"" + name + R"(":{"dtype":)" + type + R"(,"shape":)" + shape + R"(,"data_offsets":)" +
           offsets + "}";
}

TEST(SafetensorsHeader, IsReadAsItWasWritten) {
    const SafetensorsHeader header{.metadata = {{"format", "pt"}, {"quote", "\"\\\n"}},
                                   .tensors = {{"z", "F32", {2, 3}, 0, 24},
                                               {"empty", "I8", {0, 7}, 24, 24},
                                               {"a", "BF16", {}, 24, 26}}};
    const auto read = parse_safetensors_header(safetensors_header_text(header), 26);
    ASSERT_TRUE(read) << read.error().what;
    EXPECT_EQ(read->metadata, header.metadata);
    EXPECT_EQ(read->tensors, header.tensors);
    EXPECT_EQ(read->tensors[0].elements(), 6);
    EXPECT_EQ(read->tensors[1].elements(), 0);
}

TEST(SafetensorsHeader, RangesMustCoverTheDataOnce) {
    const std::string a = tensor("a", "[0,8]");
    EXPECT_EQ(error_of("{" + a + "," + tensor("b", "[8,16]") + "}", 16), "");
    EXPECT_EQ(error_of("{" + tensor("b", "[8,16]") + "," + a + "}", 16), "");
    EXPECT_EQ(error_of("{" + a + "," + tensor("b", "[4,12]") + "}", 16),
              "tensor 'b' overlaps another");
    EXPECT_EQ(error_of("{" + a + "," + tensor("b", "[12,20]") + "}", 20),
              "tensor 'b' follows a gap");
    EXPECT_EQ(error_of("{" + a + "}", 7), "tensor 'a' reaches over the end of the file");
    EXPECT_EQ(error_of("{" + a + "}", 9), "the file is longer than its tensors");
    EXPECT_NE(error_of("{" + tensor("a", "[0,9223372036854775807]") + "}", 8), "");
    EXPECT_NE(error_of("{" + tensor("a", "[0,18446744073709551615]") + "}", 8), "");
}

TEST(SafetensorsHeader, WrongTensorsAreNamed) {
    EXPECT_EQ(error_of("{" + tensor("a", "[0,8]", "[3]") + "}", 8),
              "tensor 'a' has 8 bytes, which its shape does not fill");
    EXPECT_EQ(error_of("{" + tensor("a", "[0,8]", "[4294967296,4294967296]") + "}", 8),
              "tensor 'a' has 8 bytes, which its shape does not fill");
    EXPECT_EQ(error_of("{" + tensor("a", "[8,0]") + "}", 8), "tensor 'a' has no data_offsets");
    EXPECT_EQ(error_of("{" + tensor("a", "[0]") + "}", 8), "tensor 'a' has no data_offsets");
    EXPECT_EQ(error_of("{" + tensor("a", "[-8,0]") + "}", 8), "tensor 'a' has no data_offsets");
    EXPECT_EQ(error_of("{" + tensor("a", "[0,8]", "[-2]") + "}", 8), "tensor 'a' has no shape");
    EXPECT_EQ(error_of("{" + tensor("a", "[0,8]", "[2.0]") + "}", 8), "tensor 'a' has no shape");
    EXPECT_EQ(error_of("{" + tensor("a", "[0,8]", "2") + "}", 8), "tensor 'a' has no shape");
    EXPECT_EQ(error_of("{" + tensor("a", "[0,8]", "[2]", "\"F33\"") + "}", 8),
              "tensor 'a' has the unknown dtype 'F33'");
    EXPECT_EQ(error_of("{" + tensor("a", "[0,8]", "[2]", "32") + "}", 8),
              "tensor 'a' has no dtype");
    EXPECT_EQ(error_of(R"({"a":[]})", 0), "tensor 'a' has no dtype");
}

TEST(SafetensorsHeader, WhatIsNoHeaderIsAnError) {
    for (const char* text : {"", "{", "[]", "7", "{\"a\":}", "{}x", "\xff\xfe", "{\"\xff\":1}"}) {
        EXPECT_EQ(error_of(text, 0), "the header is not a JSON object") << text;
    }
    const std::string a = tensor("a", "[0,8]");
    EXPECT_EQ(error_of("{" + a + "," + a + "}", 8), "the name 'a' occurs twice");
    EXPECT_EQ(error_of(R"({"a":{"dtype":"F32","dtype":"F32"}})", 8),
              "the name 'dtype' occurs twice");
    EXPECT_EQ(error_of(R"({"__metadata__":{"k":1}})", 0), "the metadata are not a map of strings");
    EXPECT_EQ(error_of(R"({"__metadata__":["k"]})", 0), "the metadata are not a map of strings");
    EXPECT_EQ(error_of("{\"a\":" + std::string(100000, '[') + "}", 0),
              "the header is nested too deeply");
}

// The fields of one object may repeat those of another.
TEST(SafetensorsHeader, NamesAreOnlyComparedWithinAnObject) {
    EXPECT_EQ(error_of("{" + tensor("shape", "[0,8]") + "," + tensor("dtype", "[8,16]") + "}", 16),
              "");
}

}  // namespace
}  // namespace orrery
