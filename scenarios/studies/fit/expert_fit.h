// SPDX-License-Identifier: Apache-2.0
// How far steps of models with experts are from their predictions. No factor is fitted on them: the
// host and the exchange of tokens bind many, and neither is stretched by a factor of kernels.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/result.h"
#include "kernels/efficiency_table.h"
#include "scenarios/studies/fit/unseen_fit.h"
#include "scenarios/studies/validate/published_cases.h"

namespace orrery {

// Log errors, by family, of the cases that have experts and can be expressed: simulated with these
// factors, on a network without contention. They don't depend on the number of threads.
Result<FamilyErrors> expert_errors(const std::vector<PublishedCase>& cases,
                                   const Catalogue& catalogue,
                                   const EfficiencyTable& table,
                                   std::uint32_t jobs = 1);

}  // namespace orrery
