// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/fit/expert_fit.h"

#include <cmath>
#include <optional>

#include "scenarios/studies/fit/row_samples.h"
#include "scenarios/studies/simulate/simulate_scenario.h"

namespace orrery {
namespace {

constexpr const char* kExpertTerm = "step";

// Nothing if the row has no experts or is not expressible.
Result<std::optional<ExpertSample>> sample_expert(const PublishedCase& row,
                                                  const Catalogue& catalogue,
                                                  const EfficiencyTable& table,
                                                  const RowTerms& known) {
    Result<Scenario> scenario = scenario_of(row, catalogue);
    if (row.model.num_experts == 0 || !scenario) {
        return std::optional<ExpertSample>{};
    }
    ExpertSample sample{.name = row.name, .family = row.family, .measured_s = row.measured_s};
    if (const auto terms = known.find(row.name); terms != known.end()) {
        sample.predicted_s = term(terms->second, kExpertTerm);
        return sample;
    }
    scenario->network = NetworkFidelity::analytic;
    const Result<Answer> answer = simulate_scenario(*scenario, {.step_table = table});
    if (!answer) {
        return tl::unexpected(answer.error());
    }
    sample.predicted_s = rounded_term(answer->iteration.seconds());
    return sample;
}

}  // namespace

Result<std::vector<ExpertSample>> sample_experts(const std::vector<PublishedCase>& cases,
                                                 const Catalogue& catalogue,
                                                 const EfficiencyTable& table,
                                                 std::uint32_t jobs,
                                                 const RowTerms& known) {
    return samples_of_rows<ExpertSample>(cases, jobs, [&](const PublishedCase& row) {
        return sample_expert(row, catalogue, table, known);
    });
}

RowTerms terms_of(const std::vector<ExpertSample>& samples) {
    RowTerms rows;
    for (const ExpertSample& sample : samples) {
        rows[sample.name] = {{kExpertTerm, sample.predicted_s}};
    }
    return rows;
}

FamilyErrors expert_errors(const std::vector<ExpertSample>& samples) {
    FamilyErrors errors;
    for (const ExpertSample& sample : samples) {
        errors[sample.family].push_back(std::log(sample.predicted_s / sample.measured_s));
    }
    return errors;
}

}  // namespace orrery
