// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/simulate/measured_costs.h"

#include <gtest/gtest.h>

#include "kernels/catalogue.h"

namespace orrery {
namespace {

ProfileEntry kernel(std::uint32_t ranks, double us) {
    return {.device = "cpu-core",
            .call = adamw(64),
            .median = Time::seconds(us * 1e-6),
            .ranks = ranks};
}

HostEntry step(std::int64_t cleared, double us) {
    return {.device = "cpu-core",
            .whole_step = true,
            .cleared = Bytes{cleared},
            .median = Time::seconds(us * 1e-6)};
}

TEST(MeasuredCosts, AreThoseOfAsManyRanksOrTheNextMore) {
    const MachineProfile profile{
        .kernels = {kernel(1, 10), kernel(4, 40)}, .transfers = {}, .hosts = {}};
    const auto time = [&](std::uint32_t ranks) {
        const auto costs = measured_costs(profile, "cpu-core", ranks);
        EXPECT_EQ(costs.kernels.size(), 1U);
        return costs.kernels[0].median;
    };
    EXPECT_EQ(time(1), Time::seconds(10e-6));
    EXPECT_EQ(time(2), Time::seconds(40e-6));
    EXPECT_EQ(time(4), Time::seconds(40e-6));
    EXPECT_EQ(time(64), Time::seconds(40e-6));
    EXPECT_TRUE(measured_costs(profile, "h100-80g", 1).kernels.empty());
}

// Planted: 20 us and 0.1 ns a byte.
TEST(MeasuredCosts, FindWhatAStepCostsByWhatItClears) {
    const MachineProfile profile{
        .kernels = {},
        .transfers = {},
        .hosts = {step(100'000, 30), step(1'000'000, 120), step(50'000'000, 5020)}};
    const auto costs = measured_costs(profile, "cpu-core", 1);
    ASSERT_TRUE(costs.per_step);
    EXPECT_NEAR(costs.per_step->microseconds(), 20, 1e-3);
    EXPECT_NEAR(costs.per_cleared_byte, 1e-10, 1e-15);
    EXPECT_NEAR(costs.host_step(Bytes{2'000'000})->microseconds(), 220, 1e-2);
    EXPECT_FALSE(costs.per_op);
}

TEST(MeasuredCosts, NeverGoBelowZero) {
    const MachineProfile falling{
        .kernels = {}, .transfers = {}, .hosts = {step(1'000, 30), step(1'000'000, 20)}};
    EXPECT_EQ(measured_costs(falling, "cpu-core", 1).per_cleared_byte, 0);
    const MachineProfile steep{
        .kernels = {}, .transfers = {}, .hosts = {step(1'000'000, 1), step(2'000'000, 9)}};
    EXPECT_EQ(measured_costs(steep, "cpu-core", 1).per_step, Time{});
    EXPECT_FALSE(measured_costs({}, "cpu-core", 1).host_step(Bytes{1}));
}

}  // namespace
}  // namespace orrery
