// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/keys_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace orrery {
namespace {

std::vector<ScenarioKey> two_keys() {
    return {{.key = "plan.schedule",
             .values = "gpipe, 1f1b",
             .default_value = "1f1b",
             .meaning = "Order of a pipeline's passes.",
             .short_name = {},
             .flags = {},
             .searched = true},
            {.key = "plan.micro_batch_size",
             .values = "1 to 9 sequences",
             .default_value = {},
             .use = FieldUse::required,
             .meaning = "Sequences at once.",
             .short_name = "mbs",
             .flags = {"--micro-batch-size", "--mbs"}}};
}

TEST(KeysReport, HasTwoLinesForEachKey) {
    EXPECT_EQ(keys_report(two_keys()),
              "plan.schedule          1f1b        gpipe, 1f1b\n"
              "    Order of a pipeline's passes.\n"
              "plan.micro_batch_size  required    1 to 9 sequences\n"
              "    Sequences at once.\n");
}

TEST(KeysReport, ThePageOfAKeyHasAllOfIt) {
    EXPECT_EQ(key_page(two_keys()[0]),
              "plan.schedule\n"
              "    Order of a pipeline's passes.\n"
              "    values      gpipe, 1f1b\n"
              "    default     1f1b\n"
              "    search      varies it\n");
    EXPECT_EQ(key_page(two_keys()[1]),
              "plan.micro_batch_size\n"
              "    Sequences at once.\n"
              "    values      1 to 9 sequences\n"
              "    default     required\n"
              "    in tables   mbs\n"
              "    Megatron-LM --micro-batch-size, --mbs\n");
}

TEST(KeysReport, JsonHasNullForWhatThereIsNot) {
    const auto json = nlohmann::json::parse(keys_json(two_keys()))["keys"];
    ASSERT_EQ(json.size(), 2u);
    EXPECT_EQ(json[0]["default"], "1f1b");
    EXPECT_TRUE(json[0]["short_name"].is_null());
    EXPECT_TRUE(json[1]["default"].is_null());
    EXPECT_EQ(json[1]["required"], true);
    EXPECT_EQ(json[1]["megatron_flags"][1], "--mbs");
}

}  // namespace
}  // namespace orrery
