// SPDX-License-Identifier: Apache-2.0
// Published tables of served loads beside the simulated engines and the closed form.
#include "scenarios/studies/validate/served/serving_validation.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace orrery {
namespace {

const std::filesystem::path kCatalogue = ORRERY_SOURCE_DIR "/scenarios/catalogue";

ServingValidation validated(const std::vector<ServingCase>& cases) {
    return validate_serving(
        cases,
        read_served_models((kCatalogue / "published/serving_models.csv").string()).value(),
        {.catalogue = kCatalogue, .traces = "nowhere", .jobs = 1});
}

std::vector<ServingCase> published(const std::string& family) {
    auto cases = read_serving_cases((kCatalogue / "published/serving.csv").string()).value();
    std::erase_if(cases, [&](const ServingCase& row) { return row.family != family; });
    return cases;
}

TEST(ServingValidation, StaticBatchesBeatTheClosedForm) {
    const ServingValidation validation = validated(published("trtllm-0.6-static-a100"));
    EXPECT_TRUE(validation.skipped.empty());
    ASSERT_EQ(validation.balanced.size(), 1U);
    const ServingFamilyError& all = validation.balanced.front();
    EXPECT_EQ(all.metric, "output_tokens_per_s");
    EXPECT_EQ(all.rows, 13U);
    EXPECT_LT(all.median, 0.15);
    EXPECT_LT(all.median, all.control_median);
}

// The source of SGLang's host_per_launch: no graph holds the prompt (pull request 13094).
TEST(ServingValidation, TheHostLaunchesSglangsPromptsAsPublished) {
    auto cases =
        read_serving_cases((kCatalogue / "published/serving_blind_3.csv").string()).value();
    std::erase_if(cases, [](const ServingCase& row) {
        return row.name != "sglang-llama-3.1-8b-hopper-1024-16-c1";
    });
    const ServingValidation validation = validated(cases);
    const auto first = std::ranges::find(validation.rows, "ttft_s", &ServingMetric::metric);
    ASSERT_NE(first, validation.rows.end());
    EXPECT_NEAR(first->predicted, 0.030, 0.001);
}

TEST(ServingValidation, ARowThatCannotBeExpressedSaysWhy) {
    std::vector<ServingCase> cases = published("trtllm-0.6-static-a100");
    cases.resize(1);
    const ServingCase row = cases.front();
    const auto reason = [&](auto change) {
        std::vector<ServingCase> one{row};
        change(one.front());
        const ServingValidation validation = validated(one);
        return validation.skipped.empty() ? std::string{} : validation.skipped.front().reason;
    };
    EXPECT_EQ(reason([](ServingCase& c) { c.model = "nobody-1b"; }), "no model nobody-1b");
    EXPECT_EQ(reason([](ServingCase& c) { c.gpu = "tpu"; }),
              "published/servers.csv of the catalogue has no gpu 'tpu'");
    EXPECT_EQ(reason([](ServingCase& c) { c.engine = "x"; }), "no facts about the engine x");
    EXPECT_EQ(reason([](ServingCase& c) { c.weight_precision = "fp2"; }), "weights in 'fp2'");
    EXPECT_EQ(reason([](ServingCase& c) { c.mode = "disaggregated"; }),
              "instances of prefill and of decode are not both stated");
    EXPECT_EQ(reason([](ServingCase& c) {
                  c.load = "trace";
                  c.name = "some-trace-1";
              }),
              "the requests of its trace, traces/some_trace-1.csv, are not there");
    EXPECT_EQ(reason([](ServingCase&) {}), "");
}

TEST(ServingValidation, AReplicaGetsItsShareOfTheLoad) {
    std::vector<ServingCase> cases = published("trtllm-0.6-static-a100");
    cases.resize(1);
    ServingCase twice = cases.front();
    twice.replicas = 2;
    twice.concurrency *= 2;
    cases.push_back(twice);
    const ServingValidation validation = validated(cases);
    ASSERT_EQ(validation.rows.size(), 2U);
    EXPECT_NEAR(validation.rows[1].predicted, 2 * validation.rows[0].predicted, 1e-6);
    EXPECT_NEAR(validation.rows[1].control, 2 * validation.rows[0].control, 1e-6);
}

// An H200 at 500 of its 700 W is slower.
TEST(ServingValidation, APowerCapSlowsProducts) {
    // A prompt of 2,048 tokens; one of 128 waits for the host's launches.
    std::vector<ServingCase> cases{published("trtllm-0.9-ttft-h200").at(1)};
    ServingCase capped = cases.front();
    capped.power_cap_w = 500;
    cases.push_back(capped);
    const ServingValidation validation = validated(cases);
    ASSERT_EQ(validation.rows.size(), 2U);
    EXPECT_GT(validation.rows[1].predicted, 1.02 * validation.rows[0].predicted);
}

}  // namespace
}  // namespace orrery
