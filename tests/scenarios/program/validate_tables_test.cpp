// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "scenarios/program/exit_status.h"
#include "scenarios/program/validate.h"
#include "tests/scenarios/program/command_run.h"

namespace orrery {
namespace {

CommandRun validate_family(const std::string& family, bool json) {
    ValidateArguments arguments;
    arguments.file = ORRERY_SOURCE_DIR "/scenarios/catalogue/published/serving.csv";
    arguments.families = {family};
    arguments.json = json;
    return run_command([&] { return validate_command(arguments); });
}

TEST(ValidateTables, AFamilyIsComparedWithItsFiguresAndTheClosedForm) {
    const CommandRun ran = validate_family("trtllm-0.9-ttft-h200", true);
    ASSERT_EQ(ran.status, 0) << ran.err;
    const auto json = nlohmann::json::parse(ran.out);
    EXPECT_EQ(json["rows"].size(), 10U);
    for (const auto& row : json["rows"]) {
        EXPECT_EQ(row["metric"], "ttft_s");
        EXPECT_GT(row["control"].get<double>(), 0);
    }
    EXPECT_EQ(json["families"]["trtllm-0.9-ttft-h200"]["ttft_s"]["rows"], 10);
    EXPECT_TRUE(json.contains("provenance"));
}

TEST(ValidateTables, KnowsATableByItsFirstLine) {
    const std::string published = ORRERY_SOURCE_DIR "/scenarios/catalogue/published/";
    for (const char* table : {"serving.csv",
                              "collectives.csv",
                              "collectives_a2a.csv",
                              "layers_moe.csv",
                              "training_memory.csv"}) {
        EXPECT_TRUE(is_table_of_operations(published + table)) << table;
    }
    EXPECT_FALSE(is_table_of_operations(published + "training.csv"));
}

TEST(ValidateTables, EveryFormHasTheSameRows) {
    ValidateArguments arguments;
    arguments.file = ORRERY_SOURCE_DIR "/scenarios/catalogue/published/collectives.csv";
    arguments.format = "csv";
    const CommandRun csv = run_command([&] { return validate_command(arguments); });
    arguments.format = "json";
    const CommandRun json = run_command([&] { return validate_command(arguments); });
    ASSERT_EQ(csv.status, 0) << csv.err;
    const auto lines = std::count(csv.out.begin(), csv.out.end(), '\n');
    EXPECT_EQ(lines,
              static_cast<std::ptrdiff_t>(nlohmann::json::parse(json.out)["rows"].size() + 1));
}

TEST(ValidateTables, AnUnknownFamilyHasAHint) {
    const CommandRun ran = validate_family("trtllm-0.9-ttft-h20", false);
    EXPECT_EQ(ran.status, kExitUserError);
    EXPECT_NE(ran.err.find("did you mean 'trtllm-0.9-ttft-h200'"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace orrery
