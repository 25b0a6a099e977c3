// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/sweep.h"

#include <gtest/gtest.h>

#include "scenarios/program/exit_status.h"
#include "scenarios/program/merge.h"
#include "tests/scenarios/program/command_run.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

class SweepCommand : public ::testing::Test {
protected:
    SweepCommand() {
        folder_.write("s.yaml",
                      "cluster: {nodes: 1, node: {base: dgx-a100-80g, gpus_per_node: 2}}\n"
                      "model: {num_layers: 2, hidden_size: 256, num_attention_heads: 4, "
                      "seq_length: 256, vocab_size: 1024}\n"
                      "plan: {micro_batch_size: 1, global_batch_size: 8}\n");
        arguments_.results = (folder_ / "r.sqlite").string();
        arguments_.csv_file = (folder_ / "r.csv").string();
        arguments_.jobs = 1;
        study("scenario: s.yaml\ngrid: {plan.micro_batch_size: [1, 2]}\n");
    }
    void study(const std::string& text) { arguments_.file = folder_.write("study.yaml", text); }
    CommandRun run() const {
        return run_command([&] { return sweep_command(arguments_); });
    }
    TestFolder folder_;
    SweepArguments arguments_;
};

TEST_F(SweepCommand, PrintsAndWritesThePoints) {
    const CommandRun ran = run();
    EXPECT_EQ(ran.status, kExitOk) << ran.err;
    EXPECT_NE(ran.out.find("  0 of them finished before"), std::string::npos) << ran.out;
    EXPECT_NE(folder_.text("r.csv").find("\ns.yaml,2,2,"), std::string::npos);
    EXPECT_NE(run().out.find("2 of them finished before"), std::string::npos);
}

TEST_F(SweepCommand, MergesShards) {
    MergeArguments merge;
    for (const char* shard : {"1/2", "2/2"}) {
        arguments_.shard = shard;
        arguments_.results = (folder_ / std::string(1, shard[0])).string();
        EXPECT_EQ(run().status, kExitOk);
        merge.files.push_back(arguments_.results);
    }
    merge.results = (folder_ / "all.sqlite").string();
    const CommandRun merged = run_command([&] { return merge_command(merge); });
    EXPECT_EQ(merged.status, kExitOk) << merged.err;
    EXPECT_NE(merged.out.find("all.sqlite: 2 points, 2 of them new"), std::string::npos);
    merge.files = {arguments_.file};
    const CommandRun bad = run_command([&] { return merge_command(merge); });
    EXPECT_EQ(bad.status, kExitUserError);
    EXPECT_NE(bad.err.find("study.yaml: error: "), std::string::npos) << bad.err;
}

TEST_F(SweepCommand, MistakesEndWithStatusTwoAndSayWhere) {
    study("scenario: none.yaml\n");
    CommandRun ran = run();
    EXPECT_EQ(ran.status, kExitUserError);
    EXPECT_NE(ran.err.find("study.yaml:1:11: error: there is no file"), std::string::npos)
        << ran.err;
    study("scenario: s.yaml\ngrid: {plan.micro_batchsize: [1, 2]}\n");
    ran = run();
    EXPECT_EQ(ran.status, kExitUserError);
    EXPECT_NE(ran.err.find("unknown key 'micro_batchsize'"), std::string::npos) << ran.err;
    EXPECT_NE(ran.err.find("(hint: did you mean 'micro_batch_size'"), std::string::npos) << ran.err;
    EXPECT_NE(ran.err.find("no point of the study has an answer"), std::string::npos) << ran.err;
    EXPECT_FALSE(std::filesystem::exists(arguments_.results));
    // What was there before stays.
    study("scenario: s.yaml\n");
    EXPECT_EQ(run().status, kExitOk);
    study("scenario: s.yaml\ngrid: {plan.micro_batchsize: [1, 2]}\n");
    EXPECT_EQ(run().status, kExitUserError);
    EXPECT_TRUE(std::filesystem::exists(arguments_.results));
    arguments_.shard = "4/3";
    EXPECT_NE(run().err.find("--shard: error: "), std::string::npos);
}

}  // namespace
}  // namespace orrery
