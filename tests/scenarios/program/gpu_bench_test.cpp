// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/gpu_bench.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "runtime/cuda/devices.h"
#include "scenarios/program/exit_status.h"
#include "tests/scenarios/program/command_run.h"
#include "tests/scenarios/test_folder.h"

namespace orrery {
namespace {

TEST(GpuBench, WithoutAGpuSaysSoAndStops) {
    if (cuda_devices()) {
        GTEST_SKIP() << "a GPU is there";
    }
    const CommandRun run = run_command([] { return gpu_bench_command({}); });
    EXPECT_EQ(run.status, kExitUserError);
    EXPECT_EQ(run.out, "");
    EXPECT_NE(run.err.find("gpu-bench: error: "), std::string::npos) << run.err;
    EXPECT_NE(run.err.find(cuda_devices().error().what), std::string::npos) << run.err;
}

TEST(GpuBench, TakesTheFastestOfPyTorchsWays) {
    const std::string text =
        "torch 2.9\ntokens/s 400000 autocast, default attention\nnoise\n"
        "tokens/s 450000 bf16 weights, cuDNN attention\ntokens/s 1000 slow\n";
    const std::string line = torch_conclusion(text, 540000);
    EXPECT_NE(line.find("450000 tokens/s (bf16 weights, cuDNN attention)"), std::string::npos)
        << line;
    EXPECT_NE(line.find("Orrery has 1.20 of it"), std::string::npos) << line;
    EXPECT_EQ(torch_conclusion(text, 0).find("Orrery"), std::string::npos);
    EXPECT_NE(torch_conclusion("ImportError\n", 1).find("was not compared"), std::string::npos);
}

// A rehearsal: the stages' processes are the shell, which notes what it is asked for.
TEST(GpuBench, RunsEachStageInAProcessOfItsOwnAndResumesAtOne) {
    const TestFolder folder;
    const std::string noted = (folder.path() / "noted").string();
    const std::string program = folder.write(
        "program", "#!/bin/sh\necho \"$@\" >>'" + noted + "'\ncase $* in *train*) exit 7;; esac\n");
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    GpuBenchArguments arguments{.files = {ORRERY_SOURCE_DIR "/scenarios/gpt2-124m-1gpu.yaml"},
                                .folder = (folder.path() / "out").string(),
                                .device = "cpu",
                                .torch = false,
                                .program = program};
    const CommandRun run = run_command([&] { return gpu_bench_command(arguments); });
    EXPECT_EQ(run.status, kExitCheckFailed) << run.err;
    const std::string calls = folder.text("noted");
    EXPECT_NE(calls.find("--only checks --comparison 0"), std::string::npos) << calls;
    EXPECT_NE(calls.find("--only train " ORRERY_SOURCE_DIR), std::string::npos) << calls;
    EXPECT_NE(calls.find("profile --device cpu"), std::string::npos) << calls;
    EXPECT_NE(run.out.find("train:gpt2-124m-1gpu: ended with status 7"), std::string::npos)
        << run.out;
    std::filesystem::remove(noted);
    arguments.from = "profile";
    EXPECT_EQ(run_command([&] { return gpu_bench_command(arguments); }).status, kExitOk);
    EXPECT_EQ(folder.text("noted").find("train"), std::string::npos);
    arguments.from = "train:gpt3";
    const CommandRun unknown = run_command([&] { return gpu_bench_command(arguments); });
    EXPECT_EQ(unknown.status, kExitUserError);
    EXPECT_NE(unknown.err.find("checks, train:gpt2-124m-1gpu, profile"), std::string::npos)
        << unknown.err;
}

TEST(GpuBench, TrainsATinyModelInARehearsal) {
    const TestFolder folder;
    const std::string file = folder.write(
        "tiny.yaml",
        "name: tiny\ncluster: {nodes: 1, node: h100-1gpu}\n"
        "model: {num_layers: 1, hidden_size: 16, num_attention_heads: 2, seq_length: 16, "
        "vocab_size: 64}\nplan: {micro_batch_size: 2, global_batch_size: 4, precision: fp32}\n");
    const GpuBenchArguments arguments{.files = {file},
                                      .folder = folder.path().string(),
                                      .steps = 2,
                                      .only = "train",
                                      .device = "cpu"};
    const CommandRun run = run_command([&] { return gpu_bench_command(arguments); });
    ASSERT_EQ(run.status, kExitOk) << run.err;
    EXPECT_NE(run.out.find("step   7"), std::string::npos) << run.out;
    EXPECT_NE(run.out.find("tokens/s"), std::string::npos) << run.out;
    const std::string table = folder.text("steps.csv");
    EXPECT_EQ(std::ranges::count(table, '\n'), 2) << table;
    EXPECT_NE(table.find("\ntiny,CPU,,2,64,2,"), std::string::npos) << table;
    EXPECT_TRUE(std::filesystem::exists(folder.path() / "tiny.csv"));
}

}  // namespace
}  // namespace orrery
