// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/search/score.h"

#include <gtest/gtest.h>

#include "models/plan/flops.h"
#include "tests/scenarios/small_scenarios.h"

namespace orrery {
namespace {

struct Case {
    Scenario scenario = small_scenario("small", {});
    SearchSpec spec;
    ClusterVariant cluster{.cluster = scenario.cluster,
                           .device = scenario.device,
                           .price_per_gpu_hour = 3,
                           .busy_watts = 700,
                           .idle_watts = 100};
};

TEST(Score, MoneyIsGpuHoursTimesThePrice) {
    const Case c;
    const Score score{c.spec, c.scenario};
    // 8 GPUs, an hour a step of 32 x 1024 tokens.
    EXPECT_DOUBLE_EQ(score.money(Time::seconds(3600), c.cluster), 8 * 3.0 / (32 * 1024));
}

TEST(Score, AtThePeakAGpuIsBusyAllTheTime) {
    const Case c;
    const Score score{c.spec, c.scenario};
    const Flop work = model_flops(c.scenario.model, 32).full_attention;
    const double step =
        work.count() / (8 * c.scenario.device.peak(c.scenario.plan.precision).per_second());
    EXPECT_NEAR(
        score.joules(Time::seconds(step), c.cluster) * 32 * 1024, 8 * 700 * step, step * 1e-3);
}

TEST(Score, IsNeverBetterForALongerStep) {
    Case c;
    for (const Objective objective :
         {Objective::step_time, Objective::mfu, Objective::cost, Objective::energy}) {
        c.spec.objective = objective;
        const Score score{c.spec, c.scenario};
        EXPECT_LT(score.of(Time::seconds(1), c.cluster), score.of(Time::seconds(1.1), c.cluster));
    }
}

TEST(Score, RefusesWhatBreaksADeadlineOrABudget) {
    Case c;
    c.spec.tokens = 32.0 * 1024 * 86'400;  // a day of steps of a second
    c.spec.deadline_days = 1.5;
    const Score score{c.spec, c.scenario};
    EXPECT_EQ(score.broken_limit(Time::seconds(1.4), c.cluster), Limit::none);
    EXPECT_EQ(score.broken_limit(Time::seconds(1.6), c.cluster), Limit::deadline);
    c.spec.deadline_days = 0;
    c.spec.budget = 8 * 3 * 24 * 1.5;
    EXPECT_EQ(score.broken_limit(Time::seconds(1.4), c.cluster), Limit::none);
    EXPECT_EQ(score.broken_limit(Time::seconds(1.6), c.cluster), Limit::budget);
}

}  // namespace
}  // namespace orrery
