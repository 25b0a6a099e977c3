// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <regex>

#include "scenarios/report/keys_report.h"

namespace orrery {
namespace {

using nlohmann::json;

json schema_of(const char* kind) {
    return json::parse(
        keys_schema(*file_kind(kind), Catalogue{ORRERY_SOURCE_DIR "/scenarios/catalogue"}));
}

TEST(KeysSchema, HasEveryKindAndNoLooseReference) {
    for (const FileKind& kind : file_kinds()) {
        const json schema = schema_of(std::string{kind.word}.c_str());
        EXPECT_EQ(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        EXPECT_EQ(schema["additionalProperties"], false) << kind.word;
        const std::function<void(const json&)> visit = [&](const json& node) {
            for (const auto& [key, value] : node.items()) {
                if (key == "$ref") {
                    const json::json_pointer at{value.get<std::string>().substr(1)};
                    ASSERT_TRUE(schema.contains(at)) << value;
                    EXPECT_TRUE(schema[at].is_object()) << value;
                } else if (value.is_structured()) {
                    visit(value);
                }
            }
        };
        visit(schema);
    }
}

TEST(KeysSchema, SaysWhatTheTableSays) {
    const json schema = schema_of("scenario");
    EXPECT_EQ(schema["properties"]["kind"]["const"], "scenario");
    EXPECT_EQ(schema["required"], json{"cluster"});
    const json plan = schema["$defs"]["plan"];
    EXPECT_EQ(plan["properties"]["micro_batch_size"]["minimum"], 1);
    EXPECT_EQ(plan["required"], (json{"micro_batch_size", "global_batch_size"}));
    EXPECT_FALSE(plan["properties"].contains("data_parallel_size")) << "it is derived";
    EXPECT_EQ(schema["$defs"]["campaign"]["properties"]["repair"]["$ref"], "#/$defs/repair");
    const json node = schema["$defs"]["node_or_base"];
    EXPECT_EQ(node["anyOf"][0]["required"], json{"base"});
    const std::regex bandwidth{
        schema["$defs"]["fabric_or_base"]["properties"]["nic_bandwidth"]["pattern"]
            .get<std::string>()};
    EXPECT_TRUE(std::regex_match("200 Gbps", bandwidth));
    EXPECT_TRUE(std::regex_match("1.5GB/s", bandwidth));
    EXPECT_FALSE(std::regex_match("200", bandwidth));
    EXPECT_FALSE(std::regex_match("200 GiB", bandwidth));
}

}  // namespace
}  // namespace orrery
