// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/check.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "scenarios/program/exit_status.h"
#include "tests/scenarios/program/command_run.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

CommandRun check(const std::vector<std::string>& files, bool json = false) {
    return run_command([&] {
        CheckArguments arguments;
        arguments.files = files;
        arguments.json = json;
        return check_command(arguments);
    });
}

TEST(CheckCommand, EveryShippedScenarioAndStudyIsRight) {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator{ORRERY_SOURCE_DIR "/scenarios"}) {
        if (entry.path().extension() == ".yaml") {
            files.push_back(entry.path().string());
        }
    }
    const CommandRun run = check(files);
    EXPECT_EQ(run.status, kExitOk) << run.err;
    EXPECT_EQ(std::count(run.out.begin(), run.out.end(), '\n'),
              static_cast<std::ptrdiff_t>(files.size()));
}

TEST(CheckCommand, ErrorsOfOneFileComeBesideTheSummaryOfAnother) {
    const TestFolder folder;
    const std::string wrong = folder.write("w.yaml", "cluster: {nodse: 1}\n");
    const CommandRun run = check({ORRERY_SOURCE_DIR "/scenarios/laptop-2gpu.yaml", wrong});
    EXPECT_EQ(run.status, kExitUserError);
    EXPECT_NE(run.out.find("laptop-2gpu.yaml: scenario: gpt-2-124m on 2 ranks"), std::string::npos)
        << run.out;
    EXPECT_NE(run.err.find("w.yaml:1:11: error: "), std::string::npos) << run.err;
    const CommandRun json = check({wrong}, true);
    EXPECT_EQ(json.status, kExitUserError);
    EXPECT_EQ(json.err, "");
    EXPECT_NE(json.out.find("w.yaml:1:11"), std::string::npos) << json.out;
}

}  // namespace
}  // namespace orrery
