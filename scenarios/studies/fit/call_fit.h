// SPDX-License-Identifier: Apache-2.0
// Fits host.call of step_efficiency.h on measured steps that the host takes the time of
// (scenarios/catalogue/published/host_bound.csv). Such a step grows with the cost of a call in a
// straight line; each is simulated at two costs, and the line gives the cost at which it takes the
// measured time. The median of a generation and element type is the table's. Pipelines, whose host
// also waits for messages, are left for the check.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "kernels/efficiency_table.h"
#include "scenarios/studies/fit/step_terms.h"
#include "scenarios/studies/validate/published_cases.h"

namespace orrery {

struct CallSample {
    std::string name;
    std::string generation;
    std::string dtype;  // class of the plan's precision
    double call = 0;    // in launches of the device from C++
};

// Rows that can't be expressed, pipelines and steps that the host doesn't bind are left out. In the
// order of the rows, whatever the number of threads (0: one a core). Rows of `known` are not
// simulated.
Result<std::vector<CallSample>> sample_calls(const std::vector<PublishedCase>& cases,
                                             const Catalogue& catalogue,
                                             std::uint32_t jobs = 1,
                                             const RowTerms& known = {});
// What the simulations give of them.
RowTerms terms_of(const std::vector<CallSample>& samples);

// Sets the rows of `table`. Generations that no sample is of get the latest servers' that one is.
void fit_calls(const std::vector<CallSample>& samples, EfficiencyTable& table);

}  // namespace orrery
