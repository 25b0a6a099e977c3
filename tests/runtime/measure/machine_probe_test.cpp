// SPDX-License-Identifier: Apache-2.0
#include "runtime/measure/machine_probe.h"

#include <gtest/gtest.h>

#include <chrono>

namespace orrery {
namespace {

// No core that this can run on is outside of these.
TEST(MachineProbe, FindsRatesThatAProcessorCanHave) {
    const auto rates = probe_machine();
    ASSERT_TRUE(rates) << rates.error().to_string();
    EXPECT_GT(rates->gemm_fp32.per_second(), 1e8);
    EXPECT_LT(rates->gemm_fp32.per_second(), 2e12);
    EXPECT_GT(rates->memory.gigabytes_per_second(), 0.05);
    EXPECT_LT(rates->memory.gigabytes_per_second(), 2000);
    EXPECT_GT(rates->message_latency, Time{});
    EXPECT_GT(rates->message_bandwidth.gigabytes_per_second(), 0.001);
}

TEST(MachineProbe, AMeetingTakesATimeThatAMachineCanHave) {
    EXPECT_EQ(*probe_meeting(1), Time{});
    for (const std::uint32_t processes : {2u, 9u}) {
        const auto begin = std::chrono::steady_clock::now();
        const auto time = probe_meeting(processes);
        const std::chrono::duration<double> whole = std::chrono::steady_clock::now() - begin;
        ASSERT_TRUE(time) << time.error().to_string();
        EXPECT_GT(time->seconds(), 1e-5);
        EXPECT_LT(time->seconds(), whole.count());
    }
}

}  // namespace
}  // namespace orrery
