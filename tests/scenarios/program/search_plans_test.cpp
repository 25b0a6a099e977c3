// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "scenarios/program/exit_status.h"
#include "scenarios/program/search.h"
#include "tests/scenarios/program/command_run.h"
#include "tests/test_folder.h"

namespace orrery {
namespace search_plans_test {

SearchArguments four_gpus(const TestFolder& folder) {
    SearchArguments arguments;
    arguments.file = folder.write(
        "s.yaml",
        "cluster: {nodes: 1, node: {base: dgx-a100-80g, gpus_per_node: 4}}\n"
        "model: {num_layers: 4, hidden_size: 512, num_attention_heads: 8, seq_length: 512, "
        "vocab_size: 4096}\n"
        "plan: {micro_batch_size: 1, global_batch_size: 16}\n"
        "search: {sequence_parallel: true, recompute_granularity: none, schedule: [1f1b]}\n");
    return arguments;
}

TEST(SearchPlans, TheWinnerOnStandardOutputStandsAlone) {
    const TestFolder folder;
    SearchArguments arguments = four_gpus(folder);
    arguments.output = "-";
    const CommandRun run = run_command([&] { return search_plans_command(arguments); });
    EXPECT_EQ(run.status, kExitOk) << run.err;
    EXPECT_NE(run.out.find("tensor_model_parallel_size:"), std::string::npos) << run.out;
    EXPECT_EQ(run.out.find("the best of"), std::string::npos) << run.out;
}

TEST(SearchPlans, PacketsAreForOneStep) {
    const TestFolder folder;
    SearchArguments arguments = four_gpus(folder);
    arguments.overrides = {"network=packet"};
    const CommandRun run = run_command([&] { return search_plans_command(arguments); });
    EXPECT_EQ(run.status, kExitUserError);
    EXPECT_NE(run.err.find("network: packet is for one step"), std::string::npos) << run.err;
}

}  // namespace search_plans_test
}  // namespace orrery
