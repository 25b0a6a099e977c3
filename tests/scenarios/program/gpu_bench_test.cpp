// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/gpu_bench.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "runtime/cuda/devices.h"
#include "scenarios/program/exit_status.h"
#include "tests/scenarios/program/command_run.h"
#include "tests/test_folder.h"

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

// A rehearsal: the stages' processes are the shell, which notes what it is asked for.
TEST(GpuBench, RunsEachStageInAProcessOfItsOwnAndResumesAtOne) {
    const TestFolder folder;
    const std::string noted = (folder.path() / "noted").string();
    const std::string program = folder.write(
        "program", "#!/bin/sh\necho \"$@\" >>'" + noted + "'\ncase $* in *train*) exit 7;; esac\n");
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    GpuBenchArguments arguments;
    GpuBenchSpec& spec = arguments.spec;
    spec = {.files = {ORRERY_SOURCE_DIR "/scenarios/gpt2-124m-1gpu.yaml"},
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
    EXPECT_NE(run.out.find("ended with status 7"), std::string::npos) << run.out;
    std::filesystem::remove(noted);
    spec.from = "profile";
    EXPECT_EQ(run_command([&] { return gpu_bench_command(arguments); }).status, kExitOk);
    EXPECT_EQ(folder.text("noted").find("train"), std::string::npos);
    spec.from = "train:gpt3";
    const CommandRun unknown = run_command([&] { return gpu_bench_command(arguments); });
    EXPECT_EQ(unknown.status, kExitUserError);
    EXPECT_NE(unknown.err.find("checks, train:gpt2-124m-1gpu, profile"), std::string::npos)
        << unknown.err;
}

}  // namespace
}  // namespace orrery
