// SPDX-License-Identifier: Apache-2.0
// Makes the result of a search from its candidates.
#pragma once

#include <vector>

#include "scenarios/studies/search/candidate.h"
#include "scenarios/studies/search/search.h"

namespace orrery {

// Adds to `result` the best plans, the Pareto front, the best plan of each cluster, and the reasons
// for the other candidates. At least one candidate must have an answer.
void collect_outcome(const std::vector<Candidate>& candidates,
                     const Score& score,
                     const SearchSpec& spec,
                     SearchResult& result);

}  // namespace orrery
