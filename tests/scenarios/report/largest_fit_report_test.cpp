// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scenarios/report/search_report.h"

namespace orrery {
namespace {

LargestFit found_fit() {
    LargestFit fit{.most = 8192, .memory = {}, .beyond = {}};
    fit.memory.peak = Bytes{70'000'000'000};
    fit.memory.device = Bytes{80'000'000'000};
    fit.memory.moment = "stage 0 backward";
    fit.memory.largest = {{"logits", TensorKind::activations, Bytes{5'000'000'000}}};
    fit.beyond.peak = Bytes{81'000'000'000};
    return fit;
}

TEST(LargestFitReport, SaysWhatFitsAndWhatTakesTheMemory) {
    const std::string text = to_text(fit_sections({}, FitOf::sequence, found_fit()));
    for (const char* part : {"8192", "tokens of a sequence fit", "65.2 GiB", "logits"}) {
        EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
    }
    EXPECT_EQ(text.find("a server needs"), std::string::npos);
    LargestFit offloaded = found_fit();
    offloaded.memory.host = Bytes{1'000'000'000};
    EXPECT_NE(to_text(fit_sections({}, FitOf::layers, offloaded)).find("a server needs"),
              std::string::npos);
}

TEST(LargestFitReport, SaysThatOffsetsEndBeforeMemory) {
    LargestFit fit = found_fit();
    EXPECT_NE(to_text(fit_sections({}, FitOf::sequence, fit)).find("a little more"),
              std::string::npos);
    fit.ends_with_offsets = true;
    const std::string text = to_text(fit_sections({}, FitOf::sequence, fit));
    EXPECT_EQ(text.find("a little more"), std::string::npos);
    EXPECT_NE(text.find("norm_32_bit_offsets"), std::string::npos);
    const auto json = nlohmann::json::parse(fit_json({}, FitOf::sequence, fit));
    EXPECT_EQ(json["ends_with_offsets"], true);
}

TEST(LargestFitReport, JsonHasBytes) {
    const auto json = nlohmann::json::parse(fit_json({}, FitOf::layers, found_fit()));
    EXPECT_EQ(json["fit"], "layers");
    EXPECT_EQ(json["most"], 8192);
    EXPECT_EQ(json["memory"]["peak"], 70'000'000'000);
    EXPECT_EQ(json["beyond"]["peak"], 81'000'000'000);
    EXPECT_EQ(json["largest"][0]["name"], "logits");
}

TEST(LargestFitReport, TiersHaveALineEachWithTheKeysThatAreNew) {
    const std::vector<TierFit> fits{
        {.where = "here", .set = {}, .layers = 10, .parameters = 1'500'000'000, .why = {}},
        {.where = "there",
         .set = {"plan.a=1", "plan.b=2"},
         .layers = 40,
         .parameters = 6,
         .why = {}},
        {.where = "far", .set = {"plan.a=1", "plan.b=2", "plan.c=3"}, .why = "no drives"}};
    const std::string text = to_text(tier_sections({}, fits));
    for (const char* part : {"here", "1.5", "plan.b=2", "none", "no drives"}) {
        EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
    }
    const auto json = nlohmann::json::parse(tier_json({}, fits));
    EXPECT_EQ(json["most"], 40);
    EXPECT_EQ(json["tiers"][1]["set"].size(), 2u);
    EXPECT_FALSE(json["tiers"][0].contains("why"));
    EXPECT_EQ(json["tiers"][2]["why"], "no drives");
}

TEST(LargestFitReport, LayersThatRunAgainAreKeysOfThePlan) {
    LayerPlan plan{.layers = 8, .recomputed = 3, .set = {"plan.a=1", "plan.b=3"}};
    plan.answer.iteration = Time::seconds(2);
    plan.all_recomputed.iteration = Time::seconds(3);
    const std::string text = to_text(layer_plan_sections({}, plan));
    for (const char* part : {"3 of 8", "plan.a=1", "plan.b=3", "2.00 s", "3.00 s"}) {
        EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
    }
    const auto json = nlohmann::json::parse(layer_plan_json({}, plan));
    EXPECT_EQ(json["most"], 5);
    EXPECT_EQ(json["recomputed_layers"], 3);
    EXPECT_EQ(json["iteration_s"], 2);
    EXPECT_EQ(json["all_recomputed_iteration_s"], 3);
}

}  // namespace
}  // namespace orrery
