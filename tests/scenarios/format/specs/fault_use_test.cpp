// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/specs/fault_use.h"

#include <gtest/gtest.h>

#include <string>

#include "scenarios/format/read/reader.h"

namespace orrery {
namespace {

using enum FaultForm;

constexpr FaultForm kForms[] = {standing, at_time, at_step, in_step, process, trace, bursts};

// 1: used. One row a user, one column a form, as in kForms.
TEST(FaultUse, EveryUserUsesAFormOrSaysWhyNot) {
    struct Row {
        FaultUser user;
        const char* uses;
    };
    constexpr Row kRows[] = {{FaultUser::step, "1001000"},
                             {FaultUser::campaign, "1110111"},
                             {FaultUser::search, "1001000"},
                             {FaultUser::search_goodput, "1110111"},
                             {FaultUser::network, "0000000"},
                             {FaultUser::real_run, "0000000"},
                             {FaultUser::drill, "0010000"},
                             {FaultUser::recorded_run, "0000000"},
                             {FaultUser::serving, "1100111"}};
    static_assert(std::size(kForms) == kNumFaultForms && std::size(kRows) == kNumFaultUsers);
    for (const Row& row : kRows) {
        for (std::size_t f = 0; f < kNumFaultForms; ++f) {
            const auto why = why_left_out(row.user, kForms[f], FaultKind::slow_host);
            EXPECT_EQ(why.empty(), row.uses[f] == '1')
                << static_cast<int>(row.user) << " " << name(kForms[f]);
        }
    }
}

TEST(FaultUse, AStandingFaultWithoutEffectOnAStepIsLeftOutOfIt) {
    for (const FaultKind kind : {FaultKind::silent_corruption, FaultKind::store_slow}) {
        EXPECT_FALSE(why_left_out(FaultUser::step, standing, kind).empty()) << name(kind);
        EXPECT_TRUE(why_left_out(FaultUser::campaign, standing, kind).empty()) << name(kind);
    }
    EXPECT_TRUE(why_left_out(FaultUser::step, standing, FaultKind::gpu_lost).empty());
    EXPECT_TRUE(why_left_out(FaultUser::step, standing, FaultKind::slow_nic).empty());
}

// Each way to write an entry, as a scenario has it, in one line for a simulated step.
TEST(FaultUse, AReaderRemembersTheFormOfEachEntry) {
    const auto scenario = read_scenario(
        ORRERY_SOURCE_DIR "/scenarios/laptop-2gpu.yaml",
        {.overrides = {"faults=[{kind: slow_gpu, at: \"gpu:1\"},"
                       "{t: 3 d, at: \"node:0\", kind: gpu_lost},"
                       "{step: 3, at: \"node:0\", kind: node_crash},"
                       "{time: 1 ms, at: \"gpu:0\", kind: slow_gpu},"
                       "{process: exponential, kind: gpu_lost, mtbf: 50000 h},"
                       "{catalogue: llama-3-405b},"
                       "{daily_variance: 3.4},"
                       "{kind: link_flap, at: \"node:0/nic:0\", duration: 3 s, every: 20 s, "
                       "cycles: 3}]"}});
    ASSERT_TRUE(scenario) << scenario.error().front().to_string();
    const std::vector<FaultEntry>& entries = scenario->faults.entries;
    std::vector<std::string> read;
    for (const FaultEntry& entry : entries) {
        read.push_back(entry.path + " " + entry.what + " " + std::string{name(entry.form)});
    }
    EXPECT_EQ(read,
              (std::vector<std::string>{"faults[0] slow_gpu from the start on",
                                        "faults[1] gpu_lost t",
                                        "faults[2] node_crash step",
                                        "faults[3] slow_gpu time",
                                        "faults[4] gpu_lost process",
                                        "faults[5] llama-3-405b process",
                                        "faults[6]  daily_variance",
                                        "faults[7] link_flap from the start on",
                                        "faults[7] link_flap t"}));
    const auto left_out = faults_left_out(entries, FaultUser::step);
    EXPECT_EQ(left_out.size(), entries.size() - 2);  // the slow GPUs
    const std::string line = faults_left_out_line(left_out);
    EXPECT_EQ(line.find('\n'), std::string::npos);
    EXPECT_TRUE(
        line.starts_with("faults left out: faults[1] (gpu_lost, t), faults[4] (gpu_lost, "
                         "process), faults[5] (llama-3-405b, process), faults[6] "
                         "(daily_variance) and 1 more: they come over weeks of training"))
        << line;
    EXPECT_NE(line.find("; faults[2] (node_crash, step): they strike a real run"),
              std::string::npos)
        << line;
    EXPECT_EQ(faults_left_out_line({}), "");
}

}  // namespace
}  // namespace orrery
