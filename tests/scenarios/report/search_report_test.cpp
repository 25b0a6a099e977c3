// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/search_report.h"

#include <gtest/gtest.h>

#include <sstream>

#include "scenarios/format/document/utf8.h"
#include "scenarios/report/console_report.h"
#include "tests/scenarios/report/search_answer.h"

namespace orrery {
namespace {

TEST(SearchReport, FitsTheConsoleAndNamesTheWinnerAndWhatWasPruned) {
    const SearchedPlans searched = searched_plans();
    const std::string text = search_report(searched.scenario, searched.result);
    std::istringstream lines{text};
    for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(num_characters(line), kReportColumns) << line;
    }
    EXPECT_NE(text.find("the best of 12,345 plans"), std::string::npos) << text;
    EXPECT_NE(text.find("interleaved_1f1b"), std::string::npos) << text;
    EXPECT_NE(text.find("  do not fit in memory" + std::string(38, ' ') + "12,000\n"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("No plan that was left"), std::string::npos) << text;
}

TEST(SearchReport, ReasonsAreWordsAndRulesNameTheirKey) {
    EXPECT_EQ(left_out_words("bound"), "no better by their lower bound");
    EXPECT_EQ(left_out_words("deadline"), "deadline");
    EXPECT_EQ(left_out_words("pipeline_model_parallel_size"),
              "not allowed: pipeline_model_parallel_size");
}

TEST(SearchReport, SaysWhatAPlanThatWasLeftOutCouldSave) {
    SearchedPlans searched = searched_plans();
    searched.result.bound_gap = 0.034;
    const std::string text = search_report(searched.scenario, searched.result);
    EXPECT_NE(text.find("better by 3.4 % at most"), std::string::npos) << text;
}

TEST(SearchReport, EveryPlanOfTheSpaceIsCountedOnce) {
    const SearchedPlans searched = searched_plans();
    const std::string text = search_report(searched.scenario, searched.result);
    EXPECT_NE(text.find("  in all " + std::string(50, ' ') + " 12,345\n"), std::string::npos)
        << text;
    EXPECT_NE(text.find("on the network: 45, of which 1 broke a limit"), std::string::npos) << text;
}

TEST(SearchReport, WhatTheSimulationsCouldNotReachIsInTheHeadline) {
    SearchedPlans searched = searched_plans();
    searched.result.left_out.ran_out = 7;
    EXPECT_EQ(
        search_headline(searched.result),
        "the best of 50 simulated plans;\n7 of all 12,345 that could be better were left when "
        "search.simulations ran out");
}

TEST(SearchReport, SaysThatTheSearchWasInterrupted) {
    SearchedPlans searched = searched_plans();
    searched.result.interrupted = true;
    searched.result.left_out.interrupted = 7;
    searched.result.bound_gap = 0.034;
    const std::string text = search_report(searched.scenario, searched.result);
    EXPECT_NE(text.find(": interrupted; the best of 50 simulated plans;\n7 of all 12,345 that "
                        "could be better were left\n"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("  interrupted " + std::string(43, ' ')), std::string::npos) << text;
    EXPECT_NE(text.find("The search was interrupted: a plan"), std::string::npos) << text;
    EXPECT_EQ(text.find("ran out"), std::string::npos) << text;
    EXPECT_NE(search_json(searched.scenario, searched.result).find("\"interrupted\": true"),
              std::string::npos);
}

}  // namespace
}  // namespace orrery
