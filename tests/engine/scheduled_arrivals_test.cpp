// SPDX-License-Identifier: Apache-2.0
#include "engine/scheduled_arrivals.h"

#include <gtest/gtest.h>

#include "tests/engine/small_runs.h"

namespace orrery {
namespace scheduled_arrivals_test {

using namespace small_runs;

// Two ranks that compute, meet over links of their own, and compute again.
SimulationResult meet(std::uint32_t sms, bool scheduled) {
    ProgramBuilder b({{"dp", 2}, {"pp", 1}});
    const std::uint32_t first = b.kernel(5_ns);
    b.collective(b.group("dp", 1), 100_B, kCompute);
    b.kernel(7_ns);
    b.kernel(200_ns, kOther);
    ScriptedNetwork network({100 * kBytePerNanosecond});
    network.collective = plan_over({0}, 100_B, 30_ns, sms);
    SimulationInput input = b.input(network);
    DeviceTimings slow = b.device;
    slow.kernels[first].duration = 12_ns;
    input.devices.push_back(slow);
    input.device_class = {0, 1};
    input.traced_ranks.clear();
    input.accelerations.local_clocks = false;  // these would have no events anyway
    input.accelerations.scheduled_arrivals = scheduled;
    return run(input);
}

TEST(ScheduledArrivals, SpareTheEventsOfRunsBeforeACollective) {
    const SimulationResult with = meet(0, true);
    const SimulationResult without = meet(0, false);
    EXPECT_EQ(with.iteration, 200_ns);
    EXPECT_EQ(with.busy_sum.of, without.busy_sum.of);
    EXPECT_EQ(with.critical_path.of, without.critical_path.of);
    EXPECT_EQ(with.events + 2, without.events);
}

// The kernel on the other stream notices when the collective takes its SMs.
TEST(ScheduledArrivals, AreNotForCollectivesThatSlowKernels) {
    const SimulationResult with = meet(50, true);
    const SimulationResult without = meet(50, false);
    EXPECT_GT(with.iteration, 200_ns);
    EXPECT_EQ(with.iteration, without.iteration);
    EXPECT_EQ(with.events, without.events);
}

}  // namespace scheduled_arrivals_test
}  // namespace orrery
