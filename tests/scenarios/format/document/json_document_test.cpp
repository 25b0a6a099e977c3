// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/document/json_document.h"

#include <gtest/gtest.h>

#include "scenarios/format/document/yaml_document.h"
#include "tests/test_folder.h"

namespace orrery {
namespace json_document_test {

std::string error_of(const std::string& json) {
    const auto document = parse_json(json, "config.json");
    return document ? "" : document.error().front().to_string();
}

TEST(JsonDocument, IsTheSameTreeAsYamlOfTheSameText) {
    const std::string text = "{\"a\": {\"b\": [1, 2.5, true, null, \"x\"]}, \"c\": -3}";
    const auto json = parse_json(text, "f");
    const auto yaml = parse_yaml(text, "f");
    ASSERT_TRUE(json && yaml);
    const DocumentNode& list = *json->find("a")->find("b");
    const DocumentNode& same = *yaml->find("a")->find("b");
    ASSERT_EQ(list.items.size(), same.items.size());
    for (std::size_t i = 0; i < list.items.size(); ++i) {
        EXPECT_EQ(list.items[i].kind, same.items[i].kind) << i;
        EXPECT_EQ(list.items[i].text, same.items[i].text) << i;
        EXPECT_EQ(list.items[i].is_string, same.items[i].is_string) << i;
    }
    EXPECT_EQ(json->find("c")->text, "-3");
}

TEST(JsonDocument, KeysAndTheirValuesStandWhereTheKeyIs) {
    const auto json = parse_json("{\n  \"a\": 1,\n  \"b\": {\n    \"c\": 2}}", "f");
    ASSERT_TRUE(json);
    EXPECT_EQ(json->keys[0].where(), "f:2:3");
    EXPECT_EQ(json->find("b")->keys[0].where(), "f:4:5");
}

TEST(JsonDocument, HostileTextIsAnErrorWithAPlace) {
    EXPECT_EQ(error_of("{\"a\": }").substr(0, 23), "config.json:1:7: error:");
    EXPECT_EQ(error_of("{\"a\": 1, \"a\": 2}"),
              "config.json:1:10: error: duplicate key 'a' (hint: first given at line 1)");
    EXPECT_NE(error_of(std::string(100'000, '[')).find("nested deeper"), std::string::npos);
    for (const char* text : {"", "{", "{\"a\"", "\"", "nul", "{\"a\":1}x", "\xff", "{'a': 1}"}) {
        EXPECT_EQ(error_of(text).substr(0, 12), "config.json:") << text;
    }
    EXPECT_NE(error_of(std::string{"{\0}", 3}).find("NUL"), std::string::npos);
}

TEST(JsonDocument, EveryPrefixIsRefusedWithAPlace) {
    const std::string text =
        "{\"model\": {\"layers\": [1, 2], \"name\": \"x\\u00e9\"}, \"y\": 1e3}";
    for (std::size_t length = 0; length < text.size(); ++length) {
        EXPECT_EQ(error_of(text.substr(0, length)).substr(0, 14), "config.json:1:") << length;
    }
    EXPECT_EQ(error_of(text), "");
}

TEST(JsonDocument, FilesThatCannotBeReadAreErrorsThatNameThem) {
    const TestFolder folder;
    EXPECT_FALSE(read_json_file(folder / "absent.json"));
    EXPECT_FALSE(read_json_file(folder.path()));
    folder.write("good.json", "{\"a\": 1}");
    const auto good = read_json_file(folder / "good.json");
    ASSERT_TRUE(good);
    EXPECT_EQ(good->find("a")->where(), (folder / "good.json").string() + ":1:2");
}

}  // namespace json_document_test
}  // namespace orrery
