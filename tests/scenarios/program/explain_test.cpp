// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/explain.h"

#include <gtest/gtest.h>

#include "scenarios/program/exit_status.h"
#include "tests/scenarios/program/command_run.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

// A small model on two GPUs; `plan`: more keys of its plan.
std::string write_two_gpus(const TestFolder& folder, const std::string& plan) {
    return folder.write("s.yaml",
                        "cluster: {nodes: 1, node: {base: dgx-a100-80g, gpus_per_node: 2}}\n"
                        "model: {num_layers: 2, hidden_size: 256, num_attention_heads: 4, "
                        "seq_length: 256, vocab_size: 1024}\n"
                        "plan: {" +
                            plan + "micro_batch_size: 1, global_batch_size: 8}\n");
}

TEST(ExplainCommand, PrintsWordsOrErrors) {
    const TestFolder folder;
    ExplainArguments arguments;
    arguments.file = write_two_gpus(folder, "");
    const CommandRun good = run_command([&] { return explain_command(arguments); });
    EXPECT_EQ(good.status, kExitOk) << good.err;
    EXPECT_NE(good.out.find("What limits it"), std::string::npos) << good.out;
    EXPECT_NE(good.out.find("orrery search"), std::string::npos) << good.out;
    arguments.file = (folder / "none.yaml").string();
    const CommandRun bad = run_command([&] { return explain_command(arguments); });
    EXPECT_EQ(bad.status, kExitUserError);
    EXPECT_EQ(bad.out, "");
    EXPECT_NE(bad.err.find("none.yaml"), std::string::npos);
}

}  // namespace
}  // namespace orrery
