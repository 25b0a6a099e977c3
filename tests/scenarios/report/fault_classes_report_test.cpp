// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/fault_classes_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace orrery {
namespace {

const std::vector<FaultClass> kClasses{{.name = "gpu_lost",
                                        .kind = FaultKind::gpu_lost,
                                        .components = "1,024 GPUs",
                                        .population = 1024,
                                        .when = "one every 2.03 d",
                                        .expected = 14.7456,
                                        .stops = true},
                                       {.name = "lemons",
                                        .kind = FaultKind::slow_host,
                                        .components = "128 nodes",
                                        .population = 128,
                                        .when = "one every 5.70 d",
                                        .expected = 5.2,
                                        .from_new = true}};

TEST(FaultClassesReport, SaysHowManyThereAreAndHowOftenTheyStrike) {
    EXPECT_EQ(to_text({.title = "t", .sections = {fault_classes_section(kClasses, "30.0 d")}}),
              "t\n\nWhat can fail\n\n"
              "  class     can strike  when              expected in 30.0 d\n"
              "  gpu_lost  1,024 GPUs  one every 2.03 d          14.7 stops\n"
              "  lemons    128 nodes   one every 5.70 d          5.2 faults\n"
              "  Weibull and lognormal components are new at the start and after each fault.\n");
    const std::vector<FaultClass> many(30, kClasses[0]);
    EXPECT_NE(
        to_text({.sections = {fault_classes_section(many, "1 d")}}).find("  and 6 more classes\n"),
        std::string::npos);
}

TEST(FaultClassesReport, IsAListInJson) {
    const auto json = nlohmann::json::parse(fault_classes_json(kClasses));
    ASSERT_EQ(json.size(), 2u);
    EXPECT_EQ(json[0]["class"], "gpu_lost");
    EXPECT_EQ(json[0]["components"], 1024);
    EXPECT_EQ(json[0]["stops_the_job"], true);
    EXPECT_EQ(json[1]["kind"], "slow_host");
    EXPECT_DOUBLE_EQ(json[1]["expected"], 5.2);
}

}  // namespace
}  // namespace orrery
