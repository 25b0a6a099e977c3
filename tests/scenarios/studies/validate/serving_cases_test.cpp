// SPDX-License-Identifier: Apache-2.0
// Published tables of served loads. The closed form that the data's README describes (step = the
// longer of memory and compute, nothing fitted) has a median error of 44 % in throughput and of 27
// % in the time to the first token, as means over the families.
#include "scenarios/studies/validate/serving_cases.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/scenarios/test_folder.h"

namespace orrery {
namespace {

const std::filesystem::path kCatalogue = ORRERY_SOURCE_DIR "/scenarios/catalogue";

std::vector<ServedModel> models() {
    return read_served_models((kCatalogue / "published/serving_models.csv").string()).value();
}

std::vector<ServingCase> published(const std::string& family) {
    auto cases = read_serving_cases((kCatalogue / "published/serving.csv").string()).value();
    std::erase_if(cases, [&](const ServingCase& row) { return row.family != family; });
    return cases;
}

TEST(ServingCases, StaticBatchesBeatTheClosedForm) {
    const std::string file = (kCatalogue / "published/serving.csv").string();
    EXPECT_TRUE(is_serving_table(file));
    EXPECT_FALSE(is_serving_table((kCatalogue / "published/training.csv").string()));
    const ServingValidation validation =
        validate_serving(published("trtllm-0.6-static-a100"), models(), kCatalogue);
    EXPECT_TRUE(validation.skipped.empty());
    ASSERT_EQ(validation.balanced.size(), 1U);
    EXPECT_EQ(validation.balanced.front().metric, "output_tokens_per_s");
    EXPECT_EQ(validation.balanced.front().rows, 13U);
    EXPECT_LT(validation.balanced.front().median, 0.15);
}

TEST(ServingCases, ARowThatCannotBeExpressedSaysWhy) {
    std::vector<ServingCase> cases = published("trtllm-0.6-static-a100");
    cases.resize(1);
    const ServingCase row = cases.front();
    const auto reason = [&](auto change) {
        std::vector<ServingCase> one{row};
        change(one.front());
        const ServingValidation validation = validate_serving(one, models(), kCatalogue);
        return validation.skipped.empty() ? std::string{} : validation.skipped.front().reason;
    };
    EXPECT_EQ(reason([](ServingCase& c) { c.model = "mixtral-8x7b"; }), "a model with experts");
    EXPECT_EQ(reason([](ServingCase& c) { c.model = "deepseek-r1"; }), "a model with experts");
    EXPECT_EQ(reason([](ServingCase& c) { c.model = "nobody-1b"; }), "no model nobody-1b");
    EXPECT_EQ(reason([](ServingCase& c) { c.gpu = "tpu"; }), "the catalogue has no server of tpu");
    EXPECT_EQ(reason([](ServingCase& c) { c.engine = "x"; }), "no facts about the engine x");
    EXPECT_EQ(reason([](ServingCase& c) { c.weight_precision = "fp4"; }),
              "products in fp4 have no curve");
    EXPECT_EQ(reason([](ServingCase& c) { c.power_cap_w = 500; }), "a power cap");
    EXPECT_EQ(reason([](ServingCase& c) { c.mode = "disaggregated"; }),
              "prefill and decode on instances of their own");
    EXPECT_EQ(reason([](ServingCase&) {}), "");
}

TEST(ServingCases, AReplicaGetsItsShareOfTheLoad) {
    std::vector<ServingCase> cases = published("trtllm-0.6-static-a100");
    cases.resize(1);
    ServingCase twice = cases.front();
    twice.replicas = 2;
    twice.concurrency *= 2;
    cases.push_back(twice);
    const ServingValidation validation = validate_serving(cases, models(), kCatalogue);
    ASSERT_EQ(validation.rows.size(), 2U);
    EXPECT_NEAR(validation.rows[1].predicted, 2 * validation.rows[0].predicted, 1e-6);
}

}  // namespace
}  // namespace orrery
