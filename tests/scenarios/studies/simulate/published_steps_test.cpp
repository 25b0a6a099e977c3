// SPDX-License-Identifier: Apache-2.0
// Published step times against predictions from the committed catalogue, on a network without
// contention: the cases of up to 128 GPUs (docs/explanation/accuracy-training.md has all cases).
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "scenarios/studies/simulate/simulate_scenario.h"
#include "scenarios/studies/validate/published_cases.h"
#include "scenarios/studies/validate/validation.h"

namespace orrery {
namespace {

constexpr std::int64_t kMostGpus = 128;
constexpr int kStride = 9;  // of the family with 189 rows

// Median errors, in per cent, with less than a point to spare.
const std::map<std::string, double> kMedians{{"korthikanti", 4.5},
                                             {"sc21-table1", 3.5},
                                             {"dgxc-llama3.1-8b", 4.0},
                                             {"dgxc-llama3.1-70b", 5.0},
                                             {"dgxc-gpt3-175b", 6.0},
                                             {"nemo-bridge-dense", 6.0},
                                             {"llmfoundry-fsdp", 4.0},
                                             {"llm.c", 6.0}};

Validation simulated() {
    const std::string catalogue = ORRERY_SOURCE_DIR "/scenarios/catalogue";
    const auto rows = read_published_cases(catalogue + "/published/training.csv");
    Validation validation;
    int of_llmfoundry = 0;
    for (const PublishedCase& row : rows.value()) {
        const bool many = row.family == "llmfoundry-fsdp";
        if (row.num_gpus > kMostGpus || !kMedians.contains(row.family) ||
            (many && of_llmfoundry++ % kStride != 0)) {
            continue;
        }
        Scenario scenario = scenario_of(row, Catalogue{catalogue}).value();
        scenario.network = NetworkFidelity::analytic;
        const Answer answer = simulate_scenario(scenario).value();
        validation.rows.push_back({.name = row.name,
                                   .family = row.family,
                                   .measured_s = row.measured_s,
                                   .predicted_s = answer.iteration.seconds(),
                                   .control_s = row.measured_s,
                                   .sigma = answer.uncertainty});
    }
    summarise_families(validation);
    return validation;
}

TEST(PublishedSteps, ArePredictedWithinTheErrorsThatTheReadmeReports) {
    const Validation validation = simulated();
    EXPECT_EQ(validation.families.size(), kMedians.size());
    for (const auto& family : validation.families) {
        EXPECT_LE(100 * family.predicted.median, kMedians.at(family.family)) << family.family;
    }
    EXPECT_LE(validation.balanced_error, 0.037);
    EXPECT_GE(validation.balanced_coverage, 0.8);
}

}  // namespace
}  // namespace orrery
