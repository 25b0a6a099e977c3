// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "scenarios/report/render/json_report.h"

namespace orrery {
namespace {

TEST(HangJson, NamesWhoWaitsAndWhoIsMissing) {
    StepHang hang;
    hang.lost = {RankId{3}};
    StuckGroup group;
    group.group = "tp";
    group.waiting = {RankId{2}};
    group.missing = {RankId{3}};
    hang.groups = {group};
    const std::string json = hang_json(hang);
    for (const char* part : {"\"lost\":[3]", "\"group\":\"tp\"", "\"waiting\":[2]"}) {
        EXPECT_NE(json.find(part), std::string::npos) << json;
    }
}

}  // namespace
}  // namespace orrery
