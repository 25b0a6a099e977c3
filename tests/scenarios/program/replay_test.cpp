// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/replay.h"

#include <gtest/gtest.h>

#include "scenarios/program/exit_status.h"
#include "scenarios/program/simulate.h"
#include "tests/scenarios/program/command_run.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

TEST(ReplayCommand, RunsWhatSimulateExported) {
    const TestFolder folder;
    SimulateArguments simulate;
    simulate.file = folder.write("s.yaml",
                                 "cluster: {nodes: 1, node: {base: dgx-a100-80g, "
                                 "gpus_per_node: 2}}\n"
                                 "model: {num_layers: 2, hidden_size: 256, num_attention_heads: 4, "
                                 "seq_length: 256, vocab_size: 1024}\n"
                                 "plan: {micro_batch_size: 1, global_batch_size: 8}\n");
    simulate.chakra_folder = (folder / "traces").string();
    EXPECT_EQ(run_command([&] { return simulate_command(simulate); }).status, kExitOk);
    ReplayArguments arguments{.trace = simulate.chakra_folder, .cluster = simulate.file};
    const CommandRun ran = run_command([&] { return replay_command(arguments); });
    EXPECT_EQ(ran.status, kExitOk) << ran.err;
    EXPECT_NE(ran.out.find("traces on s\n\n  2 ranks"), std::string::npos) << ran.out;
    arguments.trace = folder.write("w.txt", "MICRO\n");
    const CommandRun bad = run_command([&] { return replay_command(arguments); });
    EXPECT_EQ(bad.status, kExitUserError);
    EXPECT_NE(bad.err.find("w.txt:1: error: "), std::string::npos) << bad.err;
    arguments.trace = (folder / "none.txt").string();
    EXPECT_EQ(run_command([&] { return replay_command(arguments); }).status, kExitUserError);
}

}  // namespace
}  // namespace orrery
