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
    std::string file;        // measured steps, or measurements of kernels; see `kernels`
    std::string output;      // the table to write; empty: only print
    std::string host_bound;  // steps that host.call is fitted on; empty: the catalogue's
    std::string unseen;      // steps of software that no case ran on; empty: the catalogue's
    std::string experts;     // steps of models with experts; empty: the catalogue's
    std::string terms;       // also write what the simulations give of each row; empty: don't
    StepTerms known{};       // rows that are not simulated; none with `floor`
    bool floor = false;      // what factors could do at most for the ratios of steps
    bool kernels = false;    // `file`: measurements of kernels; empty: the catalogue's
    std::uint32_t jobs = 0;  // threads; 0: one a core. The table does not depend on them
};

struct FittedSteps {
    StepFit fit;
    std::vector<CallSample> calls;
    UnseenErrors unseen;
    std::optional<RatioFloor> floor;
    std::string csv;        // step_efficiency.csv
    std::string terms_csv;  // of all rows
};

ResultOrErrors<FittedSteps> fit_steps(const FitSpec& spec);
ResultOrErrors<KernelFit> fit_kernels(const FitSpec& spec);

}  // namespace orrery
