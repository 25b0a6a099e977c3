// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/show.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "scenarios/program/any_scenario.h"
#include "scenarios/program/exit_status.h"
#include "tests/scenarios/program/command_run.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

CommandRun show(const ShowArguments& arguments) {
    return run_command([&] { return show_command(arguments); });
}

// Studies of a sweep are no scenarios.
bool is_scenario(const std::filesystem::path& path) {
    return path.extension() == ".yaml" && !path.filename().string().starts_with("sweep-");
}

TEST(ShowCommand, EveryShippedScenarioIsReadAgainAsTheSame) {
    const TestFolder folder;
    for (const auto& entry : std::filesystem::directory_iterator{ORRERY_SOURCE_DIR "/scenarios"}) {
        if (!is_scenario(entry.path())) {
            continue;
        }
        const std::string file = entry.path().string();
        const CommandRun run = show({.file = file});
        ASSERT_EQ(run.status, kExitOk) << file << run.err;
        EXPECT_NE(run.out.find("\nkind: "), std::string::npos) << file;
        const auto again = read_any_scenario(folder.write("shown.yaml", run.out), {});
        ASSERT_TRUE(again) << file << again.error().front().to_string() << run.out;
        const auto before = read_any_scenario(file, {});
        EXPECT_TRUE(before->plan == again->plan) << file;
        EXPECT_TRUE(before->model == again->model) << file;
        EXPECT_TRUE(before->job == again->job || !before->job.dataset_where.empty()) << file;
        EXPECT_EQ(before->cluster.num_ranks(), again->cluster.num_ranks()) << file;
        EXPECT_EQ(before->network, again->network) << file;
        EXPECT_EQ(before->faults.entries.size(), again->faults.entries.size()) << file;
    }
}

TEST(ShowCommand, AppliesOverridesAndWritesJson) {
    const std::string file = ORRERY_SOURCE_DIR "/scenarios/laptop-2gpu.yaml";
    ShowArguments arguments{.file = file, .overrides = {"plan.micro_batch_size=2"}, .plain = true};
    arguments.json = true;
    const CommandRun run = show(arguments);
    const auto json = nlohmann::json::parse(run.out);
    EXPECT_EQ(json["kind"], "scenario");
    EXPECT_EQ(json["plan"]["micro_batch_size"], 2);
    EXPECT_EQ(json["model"]["num_layers"], 12);
    EXPECT_FALSE(json["plan"].contains("schedule"));
}

}  // namespace
}  // namespace orrery
