// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/reproduce/metrics.h"

#include <gtest/gtest.h>

#include "scenarios/format/read/read_reproduction.h"

namespace orrery {
namespace {

constexpr auto kLastMetric = ReproducedMetric::highest_rate;

TEST(Metrics, EachHasANameAndAStudy) {
    for (int i = 0; i <= static_cast<int>(kLastMetric); ++i) {
        const auto metric = static_cast<ReproducedMetric>(i);
        EXPECT_FALSE(name(metric).empty()) << i;
        unit_of(metric);                                     // stops at a metric without a row
        EXPECT_FALSE(value_of(metric, {})) << name(metric);  // no study has answered
    }
    EXPECT_EQ(study_of(ReproducedMetric::mfu), ReproducedStudy::step);
    EXPECT_EQ(study_of(ReproducedMetric::ettr), ReproducedStudy::campaign);
    EXPECT_EQ(study_of(ReproducedMetric::best_tokens_per_s), ReproducedStudy::search);
    EXPECT_EQ(study_of(ReproducedMetric::placement_gain), ReproducedStudy::placement);
    EXPECT_EQ(study_of(ReproducedMetric::layer_plan_gain), ReproducedStudy::layer_plan);
    EXPECT_EQ(study_of(ReproducedMetric::tpot_s), ReproducedStudy::serving);
    EXPECT_EQ(study_of(ReproducedMetric::highest_rate), ReproducedStudy::highest_rate);
    EXPECT_EQ(study_of(ReproducedMetric::longest_sequence), ReproducedStudy::longest_sequence);
    EXPECT_EQ(study_of(ReproducedMetric::most_layers), ReproducedStudy::most_layers);
    EXPECT_TRUE(is_served(ReproducedMetric::e2e_s));
    EXPECT_FALSE(is_served(ReproducedMetric::mfu));
}

TEST(Metrics, AreFiguresOfAnswers) {
    VariantAnswer answer;
    answer.step.emplace();
    answer.step->iteration = Time::seconds(2);
    answer.step->mfu = 0.5;
    answer.step->peak = FlopRate::per_second(312e12);
    answer.step->memory.peak = Bytes{3'000'000'000};
    answer.step->memory.fits = false;
    EXPECT_EQ(value_of(ReproducedMetric::iteration_s, answer), 2.0);
    EXPECT_DOUBLE_EQ(value_of(ReproducedMetric::model_tflops_per_gpu, answer).value_or(0), 156);
    EXPECT_DOUBLE_EQ(value_of(ReproducedMetric::peak_memory_gb, answer).value_or(0), 3);
    EXPECT_EQ(value_of(ReproducedMetric::fits, answer), 0.0);
    EXPECT_FALSE(value_of(ReproducedMetric::ettr, answer));
    answer.campaign.emplace();
    EXPECT_FALSE(value_of(ReproducedMetric::ettr, answer));
    answer.campaign->plans.emplace_back().ettr.mean = 0.9;
    EXPECT_EQ(value_of(ReproducedMetric::ettr, answer), 0.9);
    EXPECT_FALSE(value_of(ReproducedMetric::mttf_h, answer));  // nothing failed
    EXPECT_FALSE(value_of(ReproducedMetric::tpot_s, answer));
    answer.serving.emplace();
    answer.serving->ttft_s.mean = 0.25;
    answer.serving->tpot_s.mean = 0.02;
    answer.serving->e2e_s.mean = 4;
    answer.serving->output_tokens_per_s = 900;
    EXPECT_EQ(value_of(ReproducedMetric::ttft_s, answer), 0.25);
    EXPECT_EQ(value_of(ReproducedMetric::tpot_s, answer), 0.02);
    EXPECT_EQ(value_of(ReproducedMetric::e2e_s, answer), 4.0);
    EXPECT_EQ(value_of(ReproducedMetric::output_tokens_per_s, answer), 900.0);
    EXPECT_FALSE(value_of(ReproducedMetric::highest_rate, answer));
    EXPECT_FALSE(value_of(ReproducedMetric::longest_sequence, answer));
    answer.largest_fit.emplace().most = 8192;
    EXPECT_EQ(value_of(ReproducedMetric::longest_sequence, answer), 8192.0);
    EXPECT_FALSE(value_of(ReproducedMetric::placement_gain, answer));
    answer.placed.emplace();
    answer.placed->before.iteration = Time::seconds(3);
    answer.placed->answer.iteration = Time::seconds(2);
    EXPECT_EQ(value_of(ReproducedMetric::placement_gain, answer), 1.5);
    EXPECT_FALSE(value_of(ReproducedMetric::layer_plan_gain, answer));
    answer.layer_plan.emplace();
    answer.layer_plan->all_recomputed.iteration = Time::seconds(5);
    answer.layer_plan->answer.iteration = Time::seconds(4);
    EXPECT_EQ(value_of(ReproducedMetric::layer_plan_gain, answer), 1.25);
    answer.highest_rate.emplace();
    answer.highest_rate->rate = 7;
    EXPECT_EQ(value_of(ReproducedMetric::highest_rate, answer), 7.0);
}

}  // namespace
}  // namespace orrery
