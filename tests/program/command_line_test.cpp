// SPDX-License-Identifier: Apache-2.0
// The program as its users meet it: exit statuses, and what goes to which stream.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/program/run_program.h"

namespace orrery {
namespace {

const std::string kSmall = "scenarios/laptop-2gpu.yaml";

TEST(CommandLine, VersionIsTheProjects) {
    const Ran ran = run_orrery("--version");
    EXPECT_EQ(ran.status, 0);
    EXPECT_EQ(ran.out, "orrery " ORRERY_VERSION "\n");
    EXPECT_EQ(ran.err, "");
}

TEST(CommandLine, HelpNamesTheCommands) {
    const Ran ran = run_orrery("--help");
    EXPECT_EQ(ran.status, 0);
    EXPECT_NE(ran.out.find("simulate"), std::string::npos);
    EXPECT_NE(ran.out.find("validate"), std::string::npos);
}

TEST(CommandLine, WrongUseEndsWithStatusTwoAndNothingOnStandardOutput) {
    for (const char* arguments : {"",
                                  "no_such_command",
                                  "simulate",
                                  "simulate --no-such-option scenarios/laptop-2gpu.yaml",
                                  "simulate no/such/file.yaml",
                                  "simulate scenarios",
                                  "simulate /dev/null",
                                  "simulate scenarios/laptop-2gpu.yaml --set plan.precision",
                                  "simulate scenarios/laptop-2gpu.yaml --set plan.no_such_key=1",
                                  "validate no/such/file.csv"}) {
        const Ran ran = run_orrery(arguments);
        EXPECT_EQ(ran.status, 2) << arguments << "\n" << ran.err;
        EXPECT_EQ(ran.out, "") << arguments;
        EXPECT_NE(ran.err, "") << arguments;
    }
}

TEST(CommandLine, AnErrorInAFileNamesItsPlace) {
    const TemporaryFolder folder;
    write_file(folder.path() / "typo.yaml", "cluster:\n  nodse: 1\n");
    const Ran ran = run_orrery("simulate " + (folder.path() / "typo.yaml").string());
    EXPECT_EQ(ran.status, 2);
    EXPECT_NE(ran.err.find("typo.yaml:2:3: error: "), std::string::npos) << ran.err;
    EXPECT_NE(ran.err.find("nodes"), std::string::npos) << "no near name in: " << ran.err;
}

TEST(CommandLine, JsonIsOneObjectAndNothingElse) {
    const Ran ran = run_orrery("simulate " + kSmall + " --json");
    ASSERT_EQ(ran.status, 0) << ran.err;
    EXPECT_EQ(ran.err, "");
    const auto json = nlohmann::json::parse(ran.out, nullptr, false);
    ASSERT_TRUE(json.is_object()) << ran.out;
    for (const char* key : {"iteration_s",
                            "tokens_per_s",
                            "mfu",
                            "hfu",
                            "model_flops_per_step",
                            "peak_memory_bytes",
                            "fits",
                            "memory",
                            "lost_mfu",
                            "network",
                            "cost_sources",
                            "uncertainty",
                            "ranks",
                            "simulated_ops",
                            "wall_s",
                            "fold_classes",
                            "flows",
                            "distinct_paths",
                            "rate_solves",
                            "peak_rss_bytes",
                            "seed",
                            "version"}) {
        EXPECT_TRUE(json.contains(key)) << key;
    }
    EXPECT_GT(json.value("iteration_s", 0.0), 0.0);
    EXPECT_EQ(json.value("ranks", 0), 2);
}

TEST(CommandLine, TheReportFitsAHundredColumns) {
    const Ran ran = run_orrery("simulate " + kSmall);
    ASSERT_EQ(ran.status, 0) << ran.err;
    EXPECT_EQ(ran.err, "");
    std::size_t columns = 0;
    for (const char c : ran.out) {
        columns = c == '\n' ? 0 : columns + ((static_cast<unsigned char>(c) & 0xc0u) != 0x80u);
        ASSERT_LE(columns, 100u) << ran.out;
    }
}

TEST(CommandLine, ASettingChangesTheAnswer) {
    const auto seconds = [](const std::string& setting) {
        const Ran ran = run_orrery("simulate " + kSmall + " --json" + setting);
        EXPECT_EQ(ran.status, 0) << ran.err;
        return nlohmann::json::parse(ran.out, nullptr, false).value("iteration_s", 0.0);
    };
    EXPECT_GT(seconds(" --set plan.global_batch_size=64"), 1.5 * seconds(""));
}

TEST(CommandLine, AFullDiskOrAnUnwritableTraceIsAnError) {
    EXPECT_EQ(run_orrery("simulate " + kSmall + " --json >/dev/full").status, 2);
    const TemporaryFolder folder;
    const std::string trace = (folder.path() / "no/such/folder/t.trace").string();
    const Ran ran = run_orrery("simulate " + kSmall + " --trace " + trace);
    EXPECT_EQ(ran.status, 2);
    EXPECT_EQ(ran.out, "");
    EXPECT_NE(ran.err.find("t.trace"), std::string::npos) << ran.err;
}

TEST(CommandLine, ATraceIsWrittenWhole) {
    const TemporaryFolder folder;
    const std::string trace = (folder.path() / "step.trace").string();
    const Ran ran = run_orrery("simulate " + kSmall + " --trace " + trace);
    ASSERT_EQ(ran.status, 0) << ran.err;
    EXPECT_GT(std::filesystem::file_size(trace), 100u);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator{folder.path()}, {}), 1);
}

}  // namespace
}  // namespace orrery
