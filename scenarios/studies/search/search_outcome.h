// SPDX-License-Identifier: Apache-2.0
// What a search answers with, from all that it knows of its candidates.
#pragma once

#include <vector>

#include "scenarios/studies/search/candidate.h"
#include "scenarios/studies/search/search.h"

namespace orrery {

// Adds to `result` the best plans, the front, the best plan of each cluster, and why the other
// candidates are not among them. At least one candidate has an answer.
void collect_outcome(const std::vector<Candidate>& candidates,
                     const Score& score,
                     const SearchSpec& spec,
                     SearchResult& result);

}  // namespace orrery
