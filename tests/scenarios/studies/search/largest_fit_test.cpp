// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/search/largest_fit.h"

#include <gtest/gtest.h>

#include "tests/scenarios/small_scenarios.h"

namespace orrery {
namespace {

Scenario with_memory(double gigabytes) {
    Scenario scenario = small_scenario("fit", {"plan.context_parallel_size=2"});
    scenario.device.memory = Bytes{static_cast<std::int64_t>(gigabytes * 1e9)};
    return scenario;
}

// The answer fits, and 1 % more does not.
TEST(LargestFit, IsWhereMemoryEnds) {
    const Scenario scenario = with_memory(16);
    const Result<LargestFit> fit = largest_fit(scenario, FitOf::sequence);
    ASSERT_TRUE(fit) << fit.error().what;
    EXPECT_EQ(fit->most % 2048, 0);
    EXPECT_TRUE(fit->memory.fits);
    EXPECT_FALSE(fit->beyond.fits);
    Scenario longest = scenario;
    longest.model.seq_length = fit->most;
    EXPECT_EQ(memory_of_step(longest)->peak, fit->memory.peak);
    longest.model.seq_length = (fit->most + fit->most / 64) / 2048 * 2048 + 2048;
    EXPECT_FALSE(memory_of_step(longest)->fits);
}

TEST(LargestFit, GrowsWithTheMemory) {
    const auto most = [](double gigabytes, FitOf what) {
        const Result<LargestFit> fit = largest_fit(with_memory(gigabytes), what);
        return fit ? fit->most : 0;
    };
    EXPECT_GT(most(8, FitOf::sequence), 1.5 * static_cast<double>(most(4, FitOf::sequence)));
    EXPECT_GT(most(8, FitOf::layers), 1.5 * static_cast<double>(most(4, FitOf::layers)));
}

// Memory has room for more than 2^31 elements of a norm's input.
TEST(LargestFit, EndsWhereOffsetsDo) {
    Scenario scenario = with_memory(1e6);
    scenario.plan.norm_32_bit_offsets = true;
    const Result<LargestFit> fit = largest_fit(scenario, FitOf::sequence);
    ASSERT_TRUE(fit) << fit.error().what;
    EXPECT_TRUE(fit->ends_with_offsets);
    const std::int64_t tokens =
        (std::int64_t{1} << 31) / scenario.model.hidden_size / scenario.plan.micro_batch_size * 2;
    EXPECT_LE(fit->most, tokens);
    EXPECT_GT(static_cast<double>(fit->most), 0.99 * static_cast<double>(tokens) - 2048);
    const Result<LargestFit> layers = largest_fit(with_memory(16), FitOf::layers);
    ASSERT_TRUE(layers);
    EXPECT_FALSE(layers->ends_with_offsets);
}

TEST(LargestFit, SaysThatNothingFits) {
    const Result<LargestFit> fit = largest_fit(with_memory(0.01), FitOf::sequence);
    ASSERT_FALSE(fit);
    EXPECT_NE(fit.error().what.find("not even 2048 fit"), std::string::npos) << fit.error().what;
}

TEST(LargestFit, SaysWhichTierIsNotKnown) {
    Scenario scenario = with_memory(4);
    scenario.cluster.node.host_memory = Bytes{};
    const std::vector<TierFit> fits = layers_by_tier(scenario);
    ASSERT_EQ(fits.size(), 5u);
    EXPECT_TRUE(fits[0].set.empty());
    EXPECT_EQ(fits[1].why, "the node's host_memory is not known");
}

}  // namespace
}  // namespace orrery
