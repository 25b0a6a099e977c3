// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scenarios/report/validation_report.h"
#include "tests/scenarios/golden_report.h"

namespace orrery {
namespace {

ExplainedError sample_error() {
    ExplainedError explained;
    explained.row.name = "CASE";
    explained.row.stack = "megatron-lm";
    explained.row.gpu = "a100-80g";
    explained.row.num_gpus = 64;
    explained.row.measured_s = 10;
    explained.answer.iteration = Time::seconds(11);
    explained.answer.lost_mfu = {{.cause = Cause::pipeline_bubble, .time = Time::seconds(2)}};
    explained.validated = {
        .name = "CASE", .family = "f", .measured_s = 10, .predicted_s = 11, .sigma = 0.05};
    Answer other;
    other.iteration = Time::seconds(12);
    explained.varied.push_back(
        {.instead = {.column = "dropout", .stated = "0.1", .value = "0", .row = {}},
         .answer = other});
    explained.varied.push_back(
        {.instead = {.column = "gpu", .stated = "a", .value = "b", .row = {}},
         .answer = unexpected<Error>(Error{"", "no such gpu", ""})});
    return explained;
}

TEST(ExplainedErrorReport, HasTheStepAndWhatTheSourceLeavesOpen) {
    expect_golden("explained_error", to_text(explained_error_sections(sample_error())));
    ExplainedError stated = sample_error();
    stated.varied.clear();
    EXPECT_NE(to_text(explained_error_sections(stated)).find("The source states every input"),
              std::string::npos);
}

TEST(ExplainedErrorReport, JsonHasSeconds) {
    const auto json = nlohmann::json::parse(explained_error_json(sample_error()));
    EXPECT_EQ(json["predicted_s"], 11);
    EXPECT_EQ(json["not_stated"][0]["predicted_s"], 12);
    EXPECT_TRUE(json["not_stated"][1]["predicted_s"].is_null());
    EXPECT_LT(json["interval_90_s"][0], 11);
}

}  // namespace
}  // namespace orrery
