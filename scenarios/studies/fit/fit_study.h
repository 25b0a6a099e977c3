// SPDX-License-Identifier: Apache-2.0
// Fits the catalogue's tables: the general factors of a training step on measured steps
// (step_fit.h), and the efficiency curves of kernels on kernels measured alone (kernel_fit.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/studies/fit/call_fit.h"
#include "scenarios/studies/fit/kernel_fit.h"
#include "scenarios/studies/fit/ratio_floor.h"
#include "scenarios/studies/fit/step_fit.h"
#include "scenarios/studies/fit/step_terms.h"
#include "scenarios/studies/fit/unseen_fit.h"

namespace orrery {

struct FitSpec {
    std::string file;        // measured steps, or with `kernels` measurements of kernels
    std::string output;      // table to write; empty: only print
    std::string host_bound;  // steps on which host.call is fitted; empty: the catalogue's
    std::string unseen;      // steps of software without fitted steps; empty: the catalogue's
    std::string experts;     // steps of models with experts; empty: the catalogue's
    std::string terms;       // file for the terms of each simulated row; empty: none
    StepTerms known{};       // terms of rows that are not simulated; none with `floor`
    bool floor = false;      // compute the lower bound of ratio errors (ratio_floor.h)
    bool kernels = false;    // `file` has measurements of kernels; empty: the catalogue's
    std::uint32_t jobs = 0;  // threads; 0: one per core. The table does not depend on them
};

struct FittedSteps {
    StepFit fit;
    std::vector<CallSample> calls;
    UnseenErrors unseen;
    std::optional<RatioFloor> floor;
    std::string csv;        // text of step_efficiency.csv
    std::string terms_csv;  // terms of all rows
};

ResultOrErrors<FittedSteps> fit_steps(const FitSpec& spec);
ResultOrErrors<KernelFit> fit_kernels(const FitSpec& spec);

}  // namespace orrery
