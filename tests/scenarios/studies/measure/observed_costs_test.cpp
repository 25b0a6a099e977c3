// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/measure/observed_costs.h"

#include <gtest/gtest.h>

#include "scenarios/studies/simulate/measured_costs.h"
#include "tests/scenarios/made_up_run.h"

namespace orrery {
namespace {

MachineProfile observed(const RecordedRun& run) {
    return observed_costs(run.program, best_steps(run.steps), "cpu-core", run.description.ranks);
}

// The made-up run took 1.7 times as long as the simulator's kernels: so do the observed ones.
TEST(ObservedCosts, FindThePlantedSlowdownOfEveryKernel) {
    const TestFolder folder;
    write_made_up_run(folder, 2, 1.7);
    const auto slow = read_recorded_run(folder / "run");
    ASSERT_TRUE(slow);
    const MachineProfile slow_profile = observed(*slow);
    write_made_up_run(folder, 2, 1.0);
    const auto fast = read_recorded_run(folder / "run");
    ASSERT_TRUE(fast);
    const MachineProfile profile = observed(*fast);
    ASSERT_EQ(profile.kernels.size(), fast->program.kernels.size());
    ASSERT_EQ(profile.kernels.size(), slow_profile.kernels.size());
    for (std::size_t k = 0; k < profile.kernels.size(); ++k) {
        EXPECT_EQ(profile.kernels[k].call, slow_profile.kernels[k].call);
        EXPECT_EQ(profile.kernels[k].ranks, 2U);
        const double ratio =
            slow_profile.kernels[k].median.seconds() / profile.kernels[k].median.seconds();
        EXPECT_NEAR(ratio, 1.7, 0.01) << k;  // nanoseconds are whole
    }
    EXPECT_FALSE(profile.transfers.empty());
    for (const TransferEntry& entry : profile.transfers) {
        EXPECT_EQ(entry.time.ranks, 2U);
    }
}

TEST(ObservedCosts, HaveTheHostBetweenOpsAndAroundThem) {
    const TestFolder folder;
    write_made_up_run(folder, 1, 1.0);
    const auto run = read_recorded_run(folder / "run");
    ASSERT_TRUE(run);
    const MeasuredCosts costs = measured_costs(observed(*run), "cpu-core", 1);
    ASSERT_TRUE(costs.per_op);
    EXPECT_NEAR(costs.per_op->microseconds(), 1.0, 0.01);  // the catalogue's launch cost
    ASSERT_TRUE(costs.per_step);
}

TEST(ObservedCosts, MergedRowsAreTheMiddleOnesWithAllSamples) {
    const auto profile = [](double us) {
        return MachineProfile{.kernels = {{.device = "d",
                                           .call = {.dims = {1}},
                                           .median = Time::seconds(us * 1e-6),
                                           .samples = 3}},
                              .transfers = {{"d", {.median = Time::seconds(us * 1e-6)}}},
                              .hosts = {{.device = "d", .median = Time::seconds(us * 1e-6)}}};
    };
    const MachineProfile all = merged({profile(9), profile(1), profile(5)});
    ASSERT_EQ(all.kernels.size(), 1U);
    EXPECT_EQ(all.kernels[0].median, Time::seconds(5e-6));
    EXPECT_EQ(all.kernels[0].samples, 9);
    ASSERT_EQ(all.transfers.size(), 1U);
    EXPECT_EQ(all.transfers[0].time.median, Time::seconds(5e-6));
    ASSERT_EQ(all.hosts.size(), 1U);
    EXPECT_EQ(all.hosts[0].samples, 3);
    MachineProfile other = profile(1);
    other.kernels[0].ranks = 2;
    EXPECT_EQ(merged({profile(1), other}).kernels.size(), 2U);
}

}  // namespace
}  // namespace orrery
