// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/search_report.h"

#include <gtest/gtest.h>

#include "tests/scenarios/report/search_answer.h"

namespace orrery {
namespace {

TEST(SearchReport, ReasonsAreWordsAndRulesNameTheirKey) {
    EXPECT_EQ(left_out_words("bound"), "no better by their lower bound");
    EXPECT_EQ(left_out_words("deadline"), "deadline");
    EXPECT_EQ(left_out_words("pipeline_model_parallel_size"),
              "not allowed: pipeline_model_parallel_size");
}

TEST(SearchReport, WhatTheSimulationsCouldNotReachIsInTheHeadline) {
    SearchedPlans searched = searched_plans();
    searched.result.left_out.ran_out = 7;
    EXPECT_EQ(search_headline(searched.result),
              "the best of 50 simulated plans; 7 of all 12,345 that could be better were left when "
              "search.simulations ran out");
}

TEST(SearchReport, TheHeadlineSaysThatTheListingWasInterrupted) {
    SearchedPlans searched = searched_plans();
    searched.result.left_out.interrupted = 7;
    searched.result.interrupted = true;
    searched.result.listed = false;
    EXPECT_EQ(search_headline(searched.result),
              "interrupted; the best of 50 simulated plans; 7 of the first 12,345 that could be "
              "better were left");
}

}  // namespace
}  // namespace orrery
