// SPDX-License-Identifier: Apache-2.0
#include "runtime/measure/op_times.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/runtime/tiny_model.h"

namespace orrery {
namespace {

TEST(OpTimes, AreMediansWithTheirSpread) {
    TinyRun run{tiny_gpt(), tiny_plan()};
    OpTimes times{run.program()};
    for (const double seconds : {5e-6, 1e-6, 3e-6, 2e-6, 4e-6}) {
        times.add(2, seconds);
    }
    EXPECT_DOUBLE_EQ(times.median(2), 3e-6);
    EXPECT_EQ(times.samples(2), 5U);
    EXPECT_EQ(times.median(1), 0.0);
    const Profile profile = times.profile("cpu-core");
    ASSERT_EQ(profile.size(), 1U);
    EXPECT_EQ(profile[0].call, run.program().kernels[2]);
    EXPECT_EQ(profile[0].median, Time::seconds(3e-6));
    EXPECT_NEAR(profile[0].spread, 2.0 / (1.35 * 3.0), 1e-12);
}

// What a run measures is a profile that can be read back, with every kernel of the Program.
TEST(OpTimes, OfARunAreAProfileOfAllItsKernels) {
    TinyRun run{tiny_gpt(), tiny_plan()};
    OpTimes times{run.program()};
    run.executor().measure(&times);
    run.executor().run_step();
    run.executor().run_step();
    const Profile profile = times.profile("cpu-core");
    EXPECT_EQ(profile.size(), run.program().kernels.size());
    std::istringstream text{profile_csv(profile, "a test")};
    const auto again = read_profile(text, "profile.csv");
    ASSERT_TRUE(again) << again.error().front().to_string();
    EXPECT_EQ(*again, profile);
}

}  // namespace
}  // namespace orrery
