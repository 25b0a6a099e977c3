// SPDX-License-Identifier: Apache-2.0
// Real runs of several processes, through the program itself: it starts itself again.
#include <gtest/gtest.h>

#include "tests/program/run_program.h"

namespace orrery {
namespace {

std::string tiny(std::uint32_t ranks) {
    return "cluster: {nodes: 1, node: {base: cpu-core, gpus_per_node: " + std::to_string(ranks) +
           "}}\n"
           "model: {num_layers: 1, hidden_size: 32, num_attention_heads: 2, seq_length: 16,"
           " vocab_size: 256}\n"
           "plan: {tensor_model_parallel_size: " +
           std::to_string(ranks) +
           ", micro_batch_size: 2, global_batch_size: 4, precision: fp32}\n"
           "job: {steps: 8, dataset: text, eval_steps: 0, learning_rate: 1.0e-3}\n";
}

// Recorded on two ranks, drawn, compared with what a profile of this very scenario predicts, and
// made a profile of. All parts of the comparison are there on both sides.
TEST(MeasuredRuns, OfTwoProcessesAreRecordedDrawnComparedAndCalibrated) {
    const TestFolder folder;
    const std::string at = folder.path().string() + "/";
    write_text(folder.path() / "text", std::string(4096, 'x') + std::string(4096, 'y'));
    write_text(folder.path() / "s.yaml", tiny(2));
    const Ran profiled = run_orrery("profile --for " + at + "s.yaml -o " + at + "p.csv --json");
    ASSERT_EQ(profiled.status, 0) << profiled.err;
    // What it is of, and the sources of the program that ran it.
    for (const char* key :
         {"\"command\": \"profile\"", "\"file\": \"s.yaml\"", "\"sources\": \""}) {
        EXPECT_NE(profiled.out.find(key), std::string::npos) << key << profiled.out;
    }
    const std::string profile = read_text(folder.path() / "p.csv");
    EXPECT_NE(profile.find("\ncpu-core,all_reduce,fp32,0,"), std::string::npos) << profile;
    EXPECT_NE(profile.find("\ncpu-core,host_op,"), std::string::npos);

    const Ran trained = run_orrery("train " + at + "s.yaml --nproc 2 --record " + at +
                                   "run --trace " + at + "t --profile " + at + "p.csv");
    ASSERT_EQ(trained.status, 0) << trained.err;
    const Ran decoded = run_shell("protoc --decode_raw < t", folder.path());
    EXPECT_EQ(decoded.status, 0) << decoded.err;
    for (const char* name : {"rank 0 (pp 0) predicted", "rank 1 (pp 0) measured"}) {
        EXPECT_NE(decoded.out.find(name), std::string::npos) << name;
    }

    const Ran compared = run_orrery("compare " + at + "run --profile " + at + "p.csv");
    ASSERT_EQ(compared.status, 0) << compared.err;
    for (const char* part : {"gemm", "all_reduce on tp", "wait for peers", "host", "step"}) {
        EXPECT_NE(compared.out.find(part), std::string::npos) << compared.out;
    }
    const Ran calibrated = run_orrery("calibrate " + at + "run -o " + at + "c.csv");
    ASSERT_EQ(calibrated.status, 0) << calibrated.err;
    const Ran simulated = run_orrery("simulate " + at + "s.yaml --profile " + at + "c.csv --json");
    ASSERT_EQ(simulated.status, 0) << simulated.err;
    EXPECT_NE(simulated.out.find("\"measured\": 1"), std::string::npos);
    EXPECT_NE(simulated.out.find("\"algorithm\": \"measured\""), std::string::npos);
}

// A measurement writes nothing into the files of the scenario's own job.
TEST(MeasuredRuns, AProfileLeavesTheJobsFilesAlone) {
    const TestFolder folder;
    const std::string at = folder.path().string() + "/";
    write_text(folder.path() / "text", std::string(4096, 'x') + std::string(4096, 'y'));
    std::string job = tiny(1);
    job.replace(job.rfind("}\n"),
                2,
                ", checkpoint_folder: run, checkpoint_interval: 4, log_file: log.jsonl,"
                " tensorboard_folder: curves, sample_interval: 4}\n");
    write_text(folder.path() / "s.yaml", job);
    const Ran trained = run_orrery("train " + at + "s.yaml --quiet");
    ASSERT_EQ(trained.status, 0) << trained.err;
    const std::string all = "find run log.jsonl curves -type f | sort | xargs md5sum";
    const Ran before = run_shell(all, folder.path());
    const Ran profiled = run_orrery("profile --for " + at + "s.yaml -o " + at + "p.csv");
    ASSERT_EQ(profiled.status, 0) << profiled.err;
    EXPECT_EQ(run_shell(all, folder.path()).out, before.out);
    EXPECT_EQ(read_text(folder.path() / "run/latest").substr(0, 11), "step-000008");
    std::filesystem::remove_all(folder.path() / "run");
    ASSERT_EQ(run_orrery("profile --for " + at + "s.yaml -o " + at + "p.csv").status, 0);
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "run"));
}

TEST(MeasuredRuns, AClusterThatWasDiscoveredTrains) {
    const TestFolder folder;
    const std::string at = folder.path().string() + "/";
    const Ran found = run_orrery("discover --device cpu -o " + at + "c.yaml");
    ASSERT_EQ(found.status, 0) << found.err;
    write_text(folder.path() / "text", std::string(8192, 'x'));
    const std::string rest = tiny(1).substr(tiny(1).find("model:"));
    write_text(folder.path() / "s.yaml", read_text(folder.path() / "c.yaml") + rest);
    const std::string one = " --set cluster.node.gpus_per_node=1 --set cluster.node.num_sockets=1";
    EXPECT_EQ(run_orrery("simulate " + at + "s.yaml" + one).status, 0);
    const Ran trained = run_orrery("train " + at + "s.yaml --set job.steps=2 --quiet" + one);
    EXPECT_EQ(trained.status, 0) << trained.err;
    EXPECT_EQ(trained.out, "");
}

}  // namespace
}  // namespace orrery
