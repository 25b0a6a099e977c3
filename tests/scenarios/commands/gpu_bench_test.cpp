// SPDX-License-Identifier: Apache-2.0
#include "scenarios/commands/gpu_bench.h"

#include <gtest/gtest.h>

#include "runtime/cuda/devices.h"
#include "scenarios/commands/exit_status.h"
#include "tests/scenarios/commands/command_run.h"

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

}  // namespace
}  // namespace orrery
