// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scenarios/program/campaign.h"
#include "scenarios/program/exit_status.h"
#include "tests/scenarios/program/command_run.h"

namespace orrery {
namespace {

CampaignArguments shipped_load() {
    CampaignArguments arguments;
    arguments.file = ORRERY_SOURCE_DIR "/scenarios/serving/llama3-70b-campaign.yaml";
    arguments.overrides = {"workload.num_requests=100", "campaign.seeds=2"};
    arguments.json = true;
    return arguments;
}

TEST(CampaignOfLoad, PrintsOneJsonObject) {
    const CommandRun run = run_command([] { return any_campaign_command(shipped_load()); });
    ASSERT_EQ(run.status, kExitOk) << run.err;
    const auto json = nlohmann::json::parse(run.out);
    EXPECT_EQ(json["runs"].size(), 2U);
    EXPECT_TRUE(json.contains("provenance"));
}

TEST(CampaignOfLoad, RefusesWhatTrainingsHave) {
    CampaignArguments arguments = shipped_load();
    arguments.trace_file = "t.json";
    const CommandRun run = run_command([&] { return any_campaign_command(arguments); });
    EXPECT_NE(run.status, kExitOk);
    EXPECT_NE(run.err.find("--trace"), std::string::npos) << run.err;
}

}  // namespace
}  // namespace orrery
