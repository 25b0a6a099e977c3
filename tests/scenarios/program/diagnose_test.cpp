// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/diagnose.h"

#include <gtest/gtest.h>

#include "tests/scenarios/program/command_run.h"

namespace orrery {
namespace diagnose_test {

constexpr const char* kScenario = ORRERY_SOURCE_DIR "/scenarios/llama3-8b-h100.yaml";

// On three servers.
CommandRun diagnose(std::vector<std::string> overrides, bool json = false) {
    overrides.insert(
        overrides.end(),
        {"cluster.nodes=3", "cluster.fabric=ndr400-rail", "plan.global_batch_size=192"});
    return run_command([&] {
        DiagnoseArguments arguments;
        arguments.what = kScenario;
        arguments.overrides = overrides;
        arguments.json = json;
        return diagnose_command(arguments);
    });
}

TEST(DiagnoseCommand, FindsNobodyWhereNobodyIsSick) {
    const CommandRun run = diagnose({});
    EXPECT_EQ(run.status, 0) << run.err;
    EXPECT_NE(run.out.find("  suspected  none\n  slow       none\n"), std::string::npos);
}

TEST(DiagnoseCommand, NamesTheSlowHostAndSaysSoByItsStatus) {
    const CommandRun run = diagnose({"faults=[{kind: slow_host, at: \"node:1\", factor: 1.3}]"});
    EXPECT_EQ(run.status, 1) << run.err;
    EXPECT_NE(run.out.find("node 1"), std::string::npos) << run.out;
    const CommandRun json =
        diagnose({"faults=[{kind: slow_host, at: \"node:1\", factor: 1.3}]"}, true);
    EXPECT_EQ(json.status, 1);
    EXPECT_TRUE(json.out.starts_with("{")) << json.out;
}

TEST(DiagnoseCommand, WhatIsNotThereIsAnError) {
    EXPECT_EQ(run_command([] { return diagnose_command({.what = "/no/such/file"}); }).status, 2);
}

}  // namespace diagnose_test
}  // namespace orrery
