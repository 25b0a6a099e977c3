// SPDX-License-Identifier: Apache-2.0
// How far steps of models with experts are from their predictions. No factor is fitted on them: the
// host and the exchange of tokens bind many, and neither is stretched by a factor of kernels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "kernels/efficiency_table.h"
#include "scenarios/studies/fit/step_terms.h"
#include "scenarios/studies/fit/unseen_fit.h"
#include "scenarios/studies/validate/published_cases.h"

namespace orrery {

struct ExpertSample {
    std::string name;
    std::string family;
    double measured_s = 0;
    double predicted_s = 0;
    bool operator==(const ExpertSample&) const = default;
};

// The cases that have experts and can be expressed: simulated with these factors, on a network
// without contention. They don't depend on the number of threads. Rows of `known` are not
// simulated.
Result<std::vector<ExpertSample>> sample_experts(const std::vector<PublishedCase>& cases,
                                                 const Catalogue& catalogue,
                                                 const EfficiencyTable& table,
                                                 std::uint32_t jobs = 1,
                                                 const RowTerms& known = {});
// What the simulations give of them.
RowTerms terms_of(const std::vector<ExpertSample>& samples);

// Logarithms of predicted over measured, by family.
FamilyErrors expert_errors(const std::vector<ExpertSample>& samples);

}  // namespace orrery
