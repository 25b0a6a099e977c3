// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/measure/bench_stages.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace orrery {
namespace {

constexpr int kSegmentationFault = 128 + 11;

// Processes that end as the test says.
struct Script {
    struct Call {
        std::string words;
        std::string without;
    };
    // What a process does: prints, and ends.
    std::function<StageEnd(const Call&, std::string& output)> behave;
    std::vector<Call> calls;
    std::string printed;

    std::vector<StageOutcome> run(const std::vector<BenchStage>& stages,
                                  const std::string& without = "") {
        const auto outcomes = run_stages(
            stages,
            without,
            [&](const StageCommand& command, const auto& output) -> Result<StageEnd> {
                Call call;
                for (const std::string& word : command.words) {
                    call.words += (call.words.empty() ? "" : " ") + word;
                }
                for (const auto& [name, value] : command.environment) {
                    EXPECT_EQ(name, "ORRERY_CUDA_WITHOUT");
                    call.without = value;
                }
                calls.push_back(call);
                std::string text;
                const StageEnd end = behave(call, text);
                output(text);
                return end;
            },
            [&](const std::string& text) { printed += text; });
        EXPECT_TRUE(outcomes);
        return *outcomes;
    }
};

BenchStage stage(const std::string& name, bool uses_kernels = true) {
    return {.name = name, .command = {.words = {name}}, .uses_kernels = uses_kernels};
}

TEST(BenchStages, AFailedStageEndsNothingButItself) {
    Script script{[](const Script::Call& call, std::string& text) {
        text = call.words + " was here\n";
        return StageEnd{.status = call.words == "b" ? 1 : 0, .seconds = 2};
    }};
    const auto outcomes = script.run({stage("a"), stage("b", false), stage("c")});
    ASSERT_EQ(outcomes.size(), 3u);
    EXPECT_TRUE(outcomes[0].ok());
    EXPECT_FALSE(outcomes[1].ok());
    EXPECT_TRUE(outcomes[2].ok());
    EXPECT_EQ(script.calls.size(), 3u);
    EXPECT_NE(script.printed.find("c was here"), std::string::npos);
    EXPECT_EQ(outcomes[1].end.words(), "ended with status 1");
}

// As on a machine where one instruction faults: later stages do not fault again.
TEST(BenchStages, ThatFailAreTriedAgainWithoutWhatMayHaveFailed) {
    Script script{[](const Script::Call& call, std::string&) {
        const bool faults = call.without.find("mma,fused") == std::string::npos;
        return StageEnd{.status = faults ? kSegmentationFault : 0};
    }};
    const auto outcomes = script.run({stage("a"), stage("b")});
    EXPECT_TRUE(outcomes[0].ok() && outcomes[1].ok());
    ASSERT_EQ(script.calls.size(), 4u);
    EXPECT_EQ(script.calls[0].without, "");
    EXPECT_EQ(script.calls[1].without, "wgmma");
    EXPECT_EQ(script.calls[2].without, "wgmma,mma,fused");
    EXPECT_EQ(script.calls[3].without, "wgmma,mma,fused");
    EXPECT_EQ(outcomes[0].without, "wgmma,mma,fused");
}

TEST(BenchStages, WhereNothingHelpsTheNextOneBeginsWithEverything) {
    Script script{[](const Script::Call& call, std::string&) {
        return StageEnd{.timed_out = call.words == "a", .seconds = 9};
    }};
    const auto outcomes = script.run({stage("a"), stage("b")}, "gates");
    ASSERT_EQ(script.calls.size(), 5u);
    EXPECT_EQ(script.calls[3].without, "wgmma,mma,graphs,fused,gates");
    EXPECT_EQ(script.calls[4].without, "gates");
    EXPECT_EQ(outcomes[0].without, "gates");
    EXPECT_FALSE(outcomes[0].ok());
    EXPECT_EQ(leave_out_more("wgmma,mma,graphs,fused,gates"), "");
}

// Each comparison that ends its process is named, and the one behind it is made.
TEST(BenchStages, GoOnBehindAComparisonThatEndsItsProcess) {
    Script script{[](const Script::Call& call, std::string& text) {
        const int first = std::stoi(call.words.substr(call.words.rfind(' ')));
        for (int i = first + 1; i <= 6; ++i) {
            text += "  comparison   " + std::to_string(i) + "/6 gemm  ";
            if (call.without.empty() && (i == 3 || i == 5)) {
                return StageEnd{.status = kSegmentationFault};
            }
            text += "1e-3 ok\n";
        }
        return StageEnd{.status = first == 0 ? kStatusOfWrongResults : 0};
    }};
    BenchStage checks = stage("checks --comparison", false);
    checks.command.words = {"checks", "0"};
    checks.is_numbered = true;
    const auto outcomes = script.run({checks});
    ASSERT_EQ(script.calls.size(), 3u);
    EXPECT_EQ(script.calls[1].words, "checks 3");
    EXPECT_EQ(script.calls[2].words, "checks 5");
    EXPECT_EQ(outcomes[0].failed, 2);
    EXPECT_FALSE(outcomes[0].ok());
    // With a part left out all of them are made; wrong results are no reason to try again.
    checks.uses_kernels = true;
    script.calls.clear();
    const auto again = script.run({checks});
    EXPECT_EQ(script.calls.back().without, "wgmma");
    EXPECT_EQ(script.calls.size(), 4u);
    EXPECT_EQ(again[0].failed, 0);
    EXPECT_EQ(again[0].end.status, kStatusOfWrongResults);
}

TEST(BenchStages, OneThatDoesNotBeginIsNotStartedForEver) {
    Script script{[](const Script::Call&, std::string&) { return StageEnd{.status = 2}; }};
    BenchStage checks = stage("checks", false);
    checks.command.words = {"checks", "0"};
    checks.is_numbered = true;
    EXPECT_FALSE(script.run({checks})[0].ok());
    EXPECT_EQ(script.calls.size(), 1u);
}

}  // namespace
}  // namespace orrery
