// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/explained_error.h"

#include <gtest/gtest.h>

#include <cmath>

namespace orrery {
namespace {

const std::string kTable = ORRERY_SOURCE_DIR "/scenarios/catalogue/published/training.csv";

TEST(ExplainedError, VariesWhatTheSourceLeavesOpenTheLargestChangeFirst) {
    double done = 0;
    const auto explained =
        explain_error({kTable}, "KO-175B-selsp", [&](double share) { done = share; });
    ASSERT_TRUE(explained) << explained.error().front().to_string();
    EXPECT_EQ(done, 1);
    EXPECT_EQ(explained->validated.measured_s, 13.75);
    EXPECT_GT(explained->validated.sigma, explained->answer.uncertainty);
    ASSERT_FALSE(explained->varied.empty());
    for (std::size_t i = 1; i < explained->varied.size(); ++i) {
        EXPECT_GE(std::abs(explained->change(explained->varied[i - 1])),
                  std::abs(explained->change(explained->varied[i])));
    }
}

TEST(ExplainedError, AnUnknownCaseHasTheNearest) {
    const auto none = explain_error({kTable}, "KO-175B-selps", [](double) {});
    ASSERT_FALSE(none);
    EXPECT_NE(none.error().front().hint.find("KO-175B-selsp"), std::string::npos);
    EXPECT_EQ(none.error().front().where, kTable);
    const auto several = explain_error({kTable, kTable}, "", [](double) {});
    ASSERT_FALSE(several);
    EXPECT_EQ(several.error().front().where, "published tables");
    EXPECT_EQ(several.error().front().what, "there is no case ''");
}

}  // namespace
}  // namespace orrery
