// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/campaign.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scenarios/format/document/utf8.h"
#include "scenarios/program/exit_status.h"
#include "tests/scenarios/program/command_run.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

CampaignArguments llama() {
    CampaignArguments arguments;
    arguments.file = ORRERY_SOURCE_DIR "/scenarios/llama3-405b-54-days.yaml";
    arguments.overrides = {"campaign.step_time=6 s", "campaign.seeds=8"};
    arguments.jobs = 2;
    return arguments;
}

CommandRun campaign(const CampaignArguments& arguments) {
    return run_command([&] { return campaign_command(arguments); });
}

TEST(CampaignCommand, ReportsInAHundredColumns) {
    const CommandRun run = campaign(llama());
    EXPECT_EQ(run.status, kExitOk);
    EXPECT_EQ(run.err, "");
    std::istringstream lines{run.out};
    for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(num_characters(line), 100u) << line;
    }
}

// S1: the published count of interruptions and effective training time, from the counts alone.
TEST(CampaignCommand, TheJsonHasTheNumbersThatAPlanIsJudgedBy) {
    CampaignArguments arguments = llama();
    arguments.json = true;
    const CommandRun run = campaign(arguments);
    const auto json = nlohmann::json::parse(run.out);
    for (const char* key : {"interruptions", "ettr", "effective_mfu"}) {
        const double mean = json[std::string{key} + "_mean"];
        EXPECT_GE(mean, json[std::string{key} + "_interval"][0]);
        EXPECT_LE(mean, json[std::string{key} + "_interval"][1]);
    }
    EXPECT_GT(json["ettr_mean"], 0.9);
    EXPECT_LE(json["ettr_mean"], json["goodput_mean"].get<double>() + 1e-9);
    double hours = 0;
    for (const auto& [state, of] : json["gpu_hours"].items()) {
        hours += of.get<double>();
    }
    const auto& plan = json["policies"][0];
    const double gpus = 16384 + 8 * plan["spares"].get<double>();
    EXPECT_NEAR(hours / (gpus * 54 * 24), 1, 1e-9);
}

TEST(CampaignCommand, ToldTwiceItSaysTheSameOnAnyNumberOfThreads) {
    CampaignArguments arguments = llama();
    arguments.json = true;
    auto one = nlohmann::json::parse(campaign(arguments).out);
    arguments.jobs = 5;
    auto other = nlohmann::json::parse(campaign(arguments).out);
    one.erase("wall_s");
    other.erase("wall_s");
    EXPECT_EQ(one, other);
}

TEST(CampaignCommand, WritesATrace) {
    const TestFolder folder;
    CampaignArguments arguments = llama();
    arguments.trace_file = (folder / "weeks.perfetto-trace").string();
    EXPECT_EQ(campaign(arguments).status, kExitOk);
    EXPECT_GT(std::filesystem::file_size(arguments.trace_file), 10000u);
    arguments.trace_file = (folder / "nowhere/x").string();
    EXPECT_EQ(campaign(arguments).status, kExitUserError);
}

TEST(CampaignCommand, WithoutItsSectionItSaysWhatIsMissing) {
    CampaignArguments arguments;
    arguments.file = ORRERY_SOURCE_DIR "/scenarios/laptop-2gpu.yaml";
    const CommandRun run = campaign(arguments);
    EXPECT_EQ(run.status, kExitUserError);
    EXPECT_NE(run.err.find("has no section 'campaign'"), std::string::npos);
}

}  // namespace
}  // namespace orrery
