// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/scenarios/sections.h"

namespace orrery {
namespace {

std::string campaign_errors(const std::string& text, CampaignPlan* plan = nullptr) {
    Errors errors;
    CampaignPlan ignored;
    read_campaign(section_of(text), plan != nullptr ? *plan : ignored, errors);
    return lines_of(errors);
}

TEST(ReadCampaign, FillsEveryKey) {
    CampaignPlan plan;
    EXPECT_EQ(
        campaign_errors(
            "{days: 54, seeds: 7, tokens: 15.6e12, step_time: 6 s, flap_timeout: 18, "
            "flap_retries: 3, domains: {nodes_per_rack: 4, nodes_per_leaf: 16, nodes_per_pdu: 8, "
            "nodes_per_pod: 64}, repair: {time: {mean: 2 d}, test: 2 h, "
            "first_time_fix: 0.8, crews: 3, worse_most: 4, "
            "worse_repairs: 10, infant: 2, infancy: 5 d}, forecast: {recall: 0.4, precision: 0.7, "
            "lead: 5 min}, storage: {write_bandwidth: 50 GB/s, read_bandwidth: 70 GB/s, "
            "shared_network: true, bytes_per_parameter: 12, planning: 62 s}, "
            "start_up: {store: blocking, "
            "barriers: every_group, store_operation: 50 us, full: 100 s, in_place: 20 s, "
            "reconfigure: 30 s, swap: 40 s, operator: 1 h}, detection: {node_agent: false, "
            "heartbeat: 9 s, progress_watchdog: 18 s, collective_timeout: 300 s, step_outlier: "
            "1 min, anomaly: 3 h, confirmation: 2 s, diagnosis: 4 min, localisation: 0.9, "
            "false_positive: 0.1}}",
            &plan),
        "");
    EXPECT_TRUE(plan.present);
    EXPECT_EQ(plan.length, WallTime::days(54));
    EXPECT_EQ(plan.seeds, 7u);
    EXPECT_EQ(plan.step_time, WallTime::seconds(6));
    EXPECT_EQ(plan.shape.nodes_per_pod, 64u);
    EXPECT_EQ(plan.repair.time, (Distribution{DistributionKind::exponential, WallTime::days(2)}));
    EXPECT_EQ(plan.repair.first_time_fix, 0.8);
    EXPECT_EQ(plan.repair.crews, 3u);
    EXPECT_EQ(plan.forecast.precision, 0.7);
    EXPECT_TRUE(plan.storage.shared);
    EXPECT_EQ(plan.storage.planning, WallTime::seconds(62));
    EXPECT_EQ(plan.start_up.full, WallTime::seconds(100));
    EXPECT_EQ(plan.start_up.store, StoreKind::blocking);
    EXPECT_EQ(plan.start_up.barriers, BarrierRule::every_group);
    EXPECT_EQ(plan.start_up.store_operation, WallTime::microseconds(50));
    EXPECT_EQ(plan.start_up.call_operator, WallTime::hours(1));
    EXPECT_EQ(plan.detection.localisation, 0.9);
    EXPECT_EQ(plan.detection.diagnosis, WallTime::seconds(240));
}

TEST(ReadCampaign, EveryMistakeIsTold) {
    for (const auto& [text, error] :
         {std::pair{"days: 0", "out of range"},
          std::pair{"days: 1e9", "out of range"},
          std::pair{"seeds: 0", "out of range"},
          std::pair{"step_time: 5", "has no unit"},
          std::pair{"detection: {localisation: 1.1}", "out of range (hint: 0 to 1)"},
          std::pair{"forecast: {recall: -0.1}", "out of range (hint: 0 to 1)"},
          std::pair{"repair: {crews: -1}", "out of range"},
          std::pair{"start_up: {full: 1 s, processes: 1 s}", "full or processes"},
          std::pair{"start_up: {store: redis}", "can't be 'redis'"},
          std::pair{"repair: 5", "campaign.repair must be a map"},
          std::pair{"storage: {write_bandwidth: 0 GB/s}", "no bandwidth"},
          std::pair{"dayz: 5", "did you mean 'days'"},
          std::pair{"[1]", "campaign must be a map"}}) {
        EXPECT_NE(campaign_errors(text).find(error), std::string::npos) << text << "\n"
                                                                        << campaign_errors(text);
    }
    CampaignPlan large;
    large.shape.nodes = 1'000'000;
    EXPECT_NE(campaign_errors("days: 100", &large).find("too long (hint: at most 50)"),
              std::string::npos);
}

}  // namespace
}  // namespace orrery
