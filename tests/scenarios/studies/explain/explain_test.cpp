// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/explain/explain.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "scenarios/format/read/reader.h"
#include "scenarios/report/explain_report.h"
#include "scenarios/report/study_sections.h"
#include "scenarios/studies/simulate/simulate_scenario.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

constexpr const char* kText = R"(cluster:
  nodes: 2
  node: {base: dgx-a100-80g, gpus_per_node: 4}
  fabric: {base: single-switch-100, nics_per_node: 4}
model:
  {num_layers: 8, hidden_size: 1024, num_attention_heads: 16, seq_length: 1024, vocab_size: 8192}
plan: {micro_batch_size: 1, global_batch_size: 32, recompute_granularity: full}
)";

TEST(Explain, EveryGainIsWhatSimulateGives) {
    const TestFolder folder;
    const std::string file = folder.write("s.yaml", kText);
    const auto explanation = explain_scenario(file, {});
    ASSERT_TRUE(explanation) << explanation.error().front().to_string();
    ASSERT_FALSE(explanation->suggestions.empty());
    for (const Suggestion& suggestion : explanation->suggestions) {
        ReadOptions read;
        read.overrides = suggestion.change.overrides;
        const Answer answer = simulate_scenario(read_scenario(file, read).value()).value();
        EXPECT_DOUBLE_EQ(suggestion.gain,
                         answer.tokens_per_s / explanation->answer.tokens_per_s - 1);
        EXPECT_GT(suggestion.gain, 0) << suggestion.change.words;
        EXPECT_TRUE(answer.memory.fits);
    }
    EXPECT_EQ(explanation->too_large, 0);
    EXPECT_GT(explanation->tried, 10);
}

TEST(Explain, NeedlessRecomputationIsFound) {
    const TestFolder folder;
    const auto explanation = explain_scenario(folder.write("s.yaml", kText), {});
    ASSERT_TRUE(explanation);
    EXPECT_TRUE(std::ranges::any_of(explanation->suggestions, [](const Suggestion& s) {
        return s.change.words == "recompute_granularity full -> none";
    }));
}

TEST(Explain, ForWhatDoesNotFitItTellsWhatDoes) {
    const TestFolder folder;
    const auto explanation = explain_scenario(folder.write("s.yaml", kText),
                                              {.overrides = {"plan.recompute_granularity=none",
                                                             "plan.micro_batch_size=4",
                                                             "cluster.node.device.memory=3 GiB"}});
    ASSERT_TRUE(explanation) << explanation.error().front().to_string();
    ASSERT_FALSE(explanation->answer.memory.fits);
    ASSERT_FALSE(explanation->suggestions.empty());
    for (const Suggestion& suggestion : explanation->suggestions) {
        EXPECT_LE(suggestion.needed_memory, explanation->answer.memory.device);
        EXPECT_GT(suggestion.needed_memory, suggestion.peak_memory);
    }
}

TEST(Explain, AnUnreadableScenarioIsItsErrors) {
    const TestFolder folder;
    EXPECT_FALSE(explain_scenario(folder / "none.yaml", {}));
    EXPECT_FALSE(explain_scenario(folder.write("s.yaml", "plan: 3\n"), {}));
}

TEST(Explain, TheBytesDoNotDependOnTheNumberOfJobs) {
    const TestFolder folder;
    const std::string file = folder.write("s.yaml", kText);
    const auto printed = [&](std::uint32_t jobs) {
        const auto explanation = explain_scenario(file, {.jobs = jobs});
        EXPECT_TRUE(explanation);
        return explain_json(*explanation) + to_html(explain_sections(*explanation));
    };
    EXPECT_EQ(printed(1), printed(4));
}

}  // namespace
}  // namespace orrery
