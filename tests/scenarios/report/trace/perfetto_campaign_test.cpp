// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <sstream>

#include "scenarios/report/trace/perfetto_trace.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

CampaignAnswer answer() {
    CampaignAnswer answer;
    PlanAnswer plan;
    plan.name = "the plan";
    plan.first.wall = WallTime::hours(2);
    plan.first.timeline = {{WallTime{}, WallTime::hours(1), NodeUse::productive},
                           {WallTime::hours(1), WallTime::hours(2), NodeUse::waiting}};
    plan.first.marks = {{WallTime::hours(1), "gpu_lost node:3"}};
    plan.ettr_by_day = {1, 0};
    answer.plans = {plan};
    return answer;
}

TEST(PerfettoCampaign, HoldsThePhasesAndTheMarks) {
    std::ostringstream out;
    write_campaign_trace(out, answer());
    for (const char* name : {"the plan", "training", "waiting", "gpu_lost node:3", "ETTR"}) {
        EXPECT_NE(out.str().find(name), std::string::npos) << name;
    }
    // Every packet is a field 1 with its length: the lengths end where the file does.
    const std::string data = out.str();
    std::size_t at = 0;
    while (at < data.size()) {
        ASSERT_EQ(data[at], 0x0A);
        std::size_t length = 0;
        unsigned shift = 0;
        do {
            ++at;
            length |= static_cast<std::size_t>(data.at(at) & 0x7F) << shift;
            shift += 7;
        } while ((data[at] & 0x80) != 0);
        at += 1 + length;
    }
    EXPECT_EQ(at, data.size());
}

TEST(PerfettoCampaign, AppearsAsAFile) {
    const TestFolder folder;
    const std::string file = (folder / "weeks.perfetto-trace").string();
    ASSERT_TRUE(write_campaign_trace(file, answer()));
    EXPECT_FALSE(folder.text("weeks.perfetto-trace").empty());
    EXPECT_FALSE(write_campaign_trace((folder / "no/such").string(), answer()));
}

}  // namespace
}  // namespace orrery
