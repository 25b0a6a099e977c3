// SPDX-License-Identifier: Apache-2.0
#include "engine/serving/batching_rules.h"

#include <gtest/gtest.h>

#include <set>

namespace orrery {
namespace {

TEST(BatchingRules, AreFoundByTheirNames) {
    std::set<std::string_view> names;
    for (const BatchingRules& rules : batching_rules()) {
        EXPECT_TRUE(names.insert(rules.name).second) << rules.name << " twice";
        EXPECT_EQ(find_batching_rules(rules.name), &rules);
    }
    EXPECT_EQ(find_batching_rules("vllm"), nullptr);
}

// What reserves the longest output never preempts; a watermark would only waste blocks.
TEST(BatchingRules, KeepBlocksFreeOnlyWhereSequencesGrow) {
    for (const BatchingRules& rules : batching_rules()) {
        EXPECT_TRUE(rules.watermark == 0 || rules.reservation != Reservation::longest)
            << rules.name;
    }
}

}  // namespace
}  // namespace orrery
