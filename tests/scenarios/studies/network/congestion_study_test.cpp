// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/network/congestion_study.h"

#include <gtest/gtest.h>

#include "scenarios/format/read/reader.h"
#include "scenarios/studies/simulate/simulate_scenario.h"
#include "tests/scenarios/network_cluster.h"
#include "tests/scenarios/sections.h"

namespace orrery {
namespace {

using namespace literals;

TEST(CongestionStudy, TheFitIsALineThroughTwoSizes) {
    CongestionRow row;
    row.fair_small = 100_us;
    row.fair_large = 900_us;
    row.packets_small = 145_us;  // 100 / 0.8 + 20
    row.packets_large = 1'145_us;
    EXPECT_NEAR(fitted_factor(row).efficiency, 0.8, 1e-12);
    EXPECT_EQ(fitted_factor(row).queueing_delay, 20_us);
    // Never a delay below nothing.
    row.packets_small = 110_us;
    EXPECT_EQ(fitted_factor(row).queueing_delay, Time{});
    // What cannot be fitted changes nothing but the delay.
    row.packets_large = row.packets_small;
    EXPECT_EQ(fitted_factor(row), (CongestionFactor{1, 10_us}));
}

Scenario sixteen_servers(packet::CongestionKind kind) {
    Scenario scenario = leaf_spine_scenario(8);
    scenario.network_settings.packet.parameters = packet::published_parameters(kind);
    return scenario;
}

CongestionStudy study_of(const Scenario& scenario) {
    const auto study = measure_congestion(scenario, {.small = 250'000_B, .large = 2'000'000_B});
    EXPECT_TRUE(study) << study.error().to_string();
    return study.value_or(CongestionStudy{});
}

// Static routes keep every flow on links of its own: each control fills its line, and what is lost
// are the ACKs of the other direction.
TEST(CongestionStudy, WithoutCollisionsEveryControlFillsTheLine) {
    using packet::CongestionKind;
    for (const auto kind :
         {CongestionKind::nscc, CongestionKind::dcqcn, CongestionKind::megascale}) {
        Scenario scenario = sixteen_servers(kind);
        scenario.cluster.fabric.routing = RoutingKind::static_rail;
        const CongestionStudy study = study_of(scenario);
        for (const CongestionRow& row : study.rows) {
            if (row.pattern == "all_to_all") {
                continue;  // fifteen senders meet at every receiver
            }
            EXPECT_GT(row.factor.efficiency, 0.95) << row.pattern << study.factors.algorithm;
            EXPECT_LE(row.factor.efficiency, 1.0001) << row.pattern << study.factors.algorithm;
            EXPECT_LT(row.factor.queueing_delay, 5_us) << row.pattern << study.factors.algorithm;
        }
    }
}

// Flows that collide on hashed paths have to find their shares, and what finds them late costs.
TEST(CongestionStudy, CollisionsCostAndSayWhichControlFindsSharesSooner) {
    const CongestionStudy nscc = study_of(sixteen_servers(packet::CongestionKind::nscc));
    const CongestionStudy dcqcn = study_of(sixteen_servers(packet::CongestionKind::dcqcn));
    EXPECT_LT(dcqcn.factors.point_to_point.efficiency, 0.97);
    const auto large = [](const CongestionStudy& s) { return s.rows[2].packets_large; };
    EXPECT_LT(large(nscc), large(dcqcn));
    for (const CongestionStudy& study : {nscc, dcqcn}) {
        for (const CongestionRow& row : study.rows) {
            EXPECT_GE(row.packets_large.seconds(), 0.99 * row.fair_large.seconds());
        }
    }
}

TEST(CongestionStudy, AnEntryReadsAsWhatWasMeasured) {
    Scenario scenario = sixteen_servers(packet::CongestionKind::hpcc);
    scenario.cluster.fabric.uplink_bandwidth = 160_Gbps;
    const CongestionStudy study = study_of(scenario);
    NetworkSettings settings;
    Errors errors;
    read_congestion(section_of(congestion_entry(study)), shipped_catalogue(), {}, settings, errors);
    ASSERT_EQ(lines_of(errors), "");
    const CongestionFactors& f = *settings.congestion;
    EXPECT_EQ(f.algorithm, "hpcc");
    EXPECT_EQ(first_difference(f.measured_on, scenario.cluster.fabric), "");
    EXPECT_NEAR(f.ring.efficiency, study.factors.ring.efficiency, 1e-4);
    EXPECT_NEAR(f.point_to_point.queueing_delay.microseconds(),
                study.factors.point_to_point.queueing_delay.microseconds(),
                1e-3);
}

TEST(CongestionStudy, SaysWhatCannotBeMeasured) {
    Scenario scenario = sixteen_servers(packet::CongestionKind::nscc);
    const auto error = [&](const CongestionRequest& request) {
        const auto study = measure_congestion(scenario, request);
        return study ? std::string{} : study.error().to_string();
    };
    EXPECT_NE(error({.ranks = 17}).find("17 ranks of 16"), std::string::npos);
    EXPECT_NE(error({.ranks = 1}).find("less than two servers"), std::string::npos);
    EXPECT_NE(error({.large = Bytes(std::int64_t{1} << 40)}).find("million packets"),
              std::string::npos);
    scenario.network_settings.packet.spray_given = true;
    EXPECT_NE(error({}).find("disagree on spraying"), std::string::npos);
    scenario.network_settings.packet.spray_given = false;
    scenario.network_settings.events = {{.link = "leaf 0 -> spine 0"}};
    EXPECT_NE(error({}).find("without faults"), std::string::npos);
}

// A step on 1,024 GPUs of MegaScale's network under two controls.
TEST(CongestionStudy, AStepReflectsTheChosenControl) {
    const auto step = [](const std::vector<std::string>& overrides) {
        const auto scenario = read_scenario(ORRERY_SOURCE_DIR "/scenarios/megascale-175b-1024.yaml",
                                            {.overrides = overrides});
        EXPECT_TRUE(scenario) << scenario.error().front().to_string();
        const auto answer = simulate_scenario(*scenario, {});
        EXPECT_TRUE(answer) << answer.error().to_string();
        return *answer;
    };
    const Answer dcqcn = step({"network.congestion=megascale-clos-dcqcn"});
    const Answer hybrid = step({"network.congestion=megascale-clos-rtt-ecn"});
    EXPECT_LT(hybrid.iteration, dcqcn.iteration);
    EXPECT_NE(dcqcn.network_model.find("dcqcn"), std::string::npos);
    EXPECT_NE(hybrid.network_model.find("megascale"), std::string::npos);
}

}  // namespace
}  // namespace orrery
