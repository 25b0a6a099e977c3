// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "scenarios/program/exit_status.h"
#include "scenarios/program/explain.h"
#include "tests/scenarios/program/command_run.h"
#include "tests/test_folder.h"

namespace orrery {
namespace explain_program_test {

// A small model on two GPUs; `plan`: more keys of its plan.
std::string write_two_gpus(const TestFolder& folder, const std::string& plan) {
    return folder.write("s.yaml",
                        "cluster: {nodes: 1, node: {base: dgx-a100-80g, gpus_per_node: 2}}\n"
                        "model: {num_layers: 2, hidden_size: 256, num_attention_heads: 4, "
                        "seq_length: 256, vocab_size: 1024}\n"
                        "plan: {" +
                            plan + "micro_batch_size: 1, global_batch_size: 8}\n");
}

TEST(ExplainProgram, PrintsTheProgram) {
    const TestFolder folder;
    ExplainArguments arguments;
    arguments.file = write_two_gpus(folder, "pipeline_model_parallel_size: 2, ");
    arguments.program = true;
    const CommandRun all = run_command([&] { return explain_command(arguments); });
    EXPECT_EQ(all.status, kExitOk) << all.err;
    EXPECT_NE(all.out.find("role 0: pp 0"), std::string::npos) << all.out;
    EXPECT_NE(all.out.find("role 1: pp 1"), std::string::npos) << all.out;
    arguments.stage = 1;
    const CommandRun one = run_command([&] { return explain_command(arguments); });
    EXPECT_EQ(one.out.find("role 0: pp 0"), std::string::npos) << one.out;
    EXPECT_NE(one.out.find("role 1: pp 1"), std::string::npos) << one.out;
    EXPECT_LT(one.out.size(), all.out.size());

    arguments.stage = 2;
    const CommandRun beyond = run_command([&] { return explain_command(arguments); });
    EXPECT_EQ(beyond.status, kExitUserError);
    EXPECT_NE(beyond.err.find("there is no stage 2"), std::string::npos) << beyond.err;
    EXPECT_NE(beyond.err.find("stages 0 to 1"), std::string::npos) << beyond.err;
    arguments.json = true;
    const CommandRun json = run_command([&] { return explain_command(arguments); });
    EXPECT_EQ(json.status, kExitUserError);
    EXPECT_NE(json.err.find("--format"), std::string::npos) << json.err;
    arguments.program = false;
    const CommandRun alone = run_command([&] { return explain_command(arguments); });
    EXPECT_EQ(alone.status, kExitUserError);
    EXPECT_NE(alone.err.find("--program"), std::string::npos) << alone.err;
}

TEST(ExplainProgram, PrintsLayouts) {
    const TestFolder folder;
    ExplainArguments arguments;
    arguments.file = write_two_gpus(folder, "pipeline_model_parallel_size: 2, ");
    arguments.layouts = true;
    const CommandRun all = run_command([&] { return explain_command(arguments); });
    EXPECT_EQ(all.status, kExitOk) << all.err;
    EXPECT_NE(all.out.find("One rank of pp 0"), std::string::npos) << all.out;
    EXPECT_NE(all.out.find("-> send forward: send over pp +1"), std::string::npos) << all.out;
    arguments.stage = 1;
    arguments.json = true;
    const CommandRun one = run_command([&] { return explain_command(arguments); });
    EXPECT_EQ(one.status, kExitOk) << one.err;
    EXPECT_EQ(one.out.find("\"pp 0\""), std::string::npos) << one.out;
    arguments.program = true;
    arguments.json = false;
    const CommandRun both = run_command([&] { return explain_command(arguments); });
    EXPECT_EQ(both.status, kExitUserError);
    EXPECT_NE(both.err.find("--layouts"), std::string::npos) << both.err;
}

}  // namespace explain_program_test
}  // namespace orrery
