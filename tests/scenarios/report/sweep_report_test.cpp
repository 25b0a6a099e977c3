// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/sweep_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/scenarios/report/sample_sweep.h"

namespace orrery {
namespace {

TEST(SweepCsv, HasAColumnForEachKeyAndQuotesWhatNeedsIt) {
    const std::string csv = sweep_csv(sample_sweep().results);
    EXPECT_TRUE(csv.starts_with(
        "scenario,plan.x,cluster.node,plan.y,gpus,iteration_s,uncertainty,tokens_per_s,mfu,hfu,"
        "peak_memory_bytes,fits,error\n"
        "s.yaml,1,\"{base: dgx, gpus: 4}\",,8,2,0,100,0.4,0,1048576,1,\n"
        "s.yaml,2,,3,8,1,"))
        << csv;
    EXPECT_NE(csv.find("s.yaml,3,,,,,,,,,,,\"3 does not divide \"\"8\"\"\"\n"), std::string::npos)
        << csv;
}

TEST(SweepJson, HasTheAnswersWhole) {
    const auto json = nlohmann::json::parse(sweep_json("study", sample_sweep()));
    EXPECT_EQ(json["points"], 3);
    EXPECT_EQ(json["results"][1]["answer"]["iteration_s"], 1);
    EXPECT_EQ(json["results"][1]["settings"]["plan.y"], "3");
    EXPECT_EQ(json["results"][2]["error"], "3 does not divide \"8\"");
}

}  // namespace
}  // namespace orrery
