// SPDX-License-Identifier: Apache-2.0
// Fits host.call of step_efficiency.h on measured steps that are bound by the host
// (scenarios/catalogue/published/host_bound.csv). The time of such a step is linear in the cost of
// a call. Each step is simulated at two costs, and the line gives the cost at the measured time.
// The table gets the median of a generation and element type. Pipelines are only used as a check,
// because their host also waits for messages.
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
    double call = 0;    // in launches from C++ on the device
};

// Samples in the order of the rows, for any number of threads (`jobs`; 0: one per core).
// Inexpressible rows, pipelines and steps that the host does not bind are left out. Rows of `known`
// are not simulated.
Result<std::vector<CallSample>> sample_calls(const std::vector<PublishedCase>& cases,
                                             const Catalogue& catalogue,
                                             std::uint32_t jobs = 1,
                                             const RowTerms& known = {});
// The samples as terms by row name.
RowTerms terms_of(const std::vector<CallSample>& samples);

// Sets the rows of `table`. A generation without samples gets the value of the latest server
// generation.
void fit_calls(const std::vector<CallSample>& samples, EfficiencyTable& table);

}  // namespace orrery
