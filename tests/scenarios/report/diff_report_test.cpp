// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/diff_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/scenarios/report/sample_answer.h"

namespace orrery {
namespace {

ScenarioDiff sample_diff() {
    ScenarioDiff diff{.before = "a.yaml", .after = "b.yaml"};
    diff.keys = {{"plan.micro_batch_size", "2", "4"}, {"plan.precision", "bf16", {}}};
    diff.steps = {sample_answer("a"), sample_answer("b")};
    diff.steps[1].iteration = Time::seconds(3.17);
    diff.steps[1].lost_mfu[1].time = Time::seconds(0.14);
    diff.steps[1].memory.fits = true;
    return diff;
}

TEST(DiffReport, NamesKeysTimesAndTheLargestChangeFirst) {
    const std::string text = to_text(diff_sections(sample_diff()));
    for (const char* due : {"6.34 s", "3.17 s", "-50.00 %", "before: DOES NOT FIT", "(absent)"}) {
        EXPECT_NE(text.find(due), std::string::npos) << due << "\n" << text;
    }
    EXPECT_LT(text.find("exposed pipeline"), text.find("GEMM inefficiency")) << text;
}

TEST(DiffReport, FiguresHaveTheUnitThatTheirKeySays) {
    ScenarioDiff diff{.before = "a.json", .after = "b.json"};
    diff.figures = {{"iteration_s", "0.156", "0.312"},
                    {"memory.peak_bytes", "3221225472", {}},
                    {"tokens_per_s", "100", "50"},
                    {"memory.activations", "2147483648", "1073741824"},
                    {"memory_peak.largest[1].bytes", "5242880", "1048576"},
                    {"lost_s.launch", "0.0504", "0.0252"},
                    {"hfu", "0.2538733084270942", "0.14976346670125437"},
                    {"uncertainty", "0.16700640986445167", "0.16700640986445168"},
                    {"micro_batches", "1234567", "2345678"},
                    {"network_model", "fluid", "analytic"},
                    {"mfu", "0.25", "0.5"}};
    const std::string text = to_text(diff_sections(diff));
    // Numbers that six digits do not tell apart are whole.
    for (const char* due : {"156 ms",
                            "312 ms",
                            "3.00 GiB",
                            "1.00 GiB",
                            "5.00 MiB",
                            "50.4 ms",
                            "  0.253873  ",
                            "0.16700640986445167",
                            "1234567",
                            "100 /s",
                            "analytic",
                            "0.25",
                            "+100.00 %"}) {
        EXPECT_NE(text.find(due), std::string::npos) << due << "\n" << text;
    }
}

TEST(DiffReport, OfEqualScenariosSaysSo) {
    EXPECT_NE(to_text(diff_sections({.before = "a", .after = "b"})).find("They are the same."),
              std::string::npos);
}

TEST(DiffReport, JsonHasSecondsBytesAndChanges) {
    const auto json = nlohmann::json::parse(diff_json(sample_diff()));
    EXPECT_EQ(json["keys"][0]["change"], 1.0);
    EXPECT_TRUE(json["keys"][1]["after"].is_null());
    EXPECT_EQ(json["step"]["iteration_s"]["after"], 3.17);
    EXPECT_DOUBLE_EQ(json["step"]["lost_s"]["exposed_pipeline"]["after"], 0.14);
}

}  // namespace
}  // namespace orrery
