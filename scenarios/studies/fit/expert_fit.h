// SPDX-License-Identifier: Apache-2.0
// Errors of predicted steps of models with experts. No factor is fitted on them, because host and
// exchange of tokens bind many of them, and factors stretch only kernels.
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

// The expressible cases with experts, simulated with these factors on a network without contention.
// The result does not depend on the number of threads. Rows of `known` are not simulated.
Result<std::vector<ExpertSample>> sample_experts(const std::vector<PublishedCase>& cases,
                                                 const Catalogue& catalogue,
                                                 const EfficiencyTable& table,
                                                 std::uint32_t jobs = 1,
                                                 const RowTerms& known = {});
// The samples as terms by row name.
RowTerms terms_of(const std::vector<ExpertSample>& samples);

// Logarithm of predicted over measured time, by family.
FamilyErrors expert_errors(const std::vector<ExpertSample>& samples);

}  // namespace orrery
