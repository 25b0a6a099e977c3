// SPDX-License-Identifier: Apache-2.0
// Fits the general factors of step_efficiency.h on a table of measured training steps. Every step
// is simulated once without factors (network: analytic); its kernel time by factor, its
// communication and its bubble then predict the step for any factors. The loss is the mean over
// families of the mean absolute log error, errors beyond 25 % counting as 25 %, plus a weak pull of
// every factor towards 1; a deterministic pattern search minimises it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/program/kernel_call.h"
#include "kernels/efficiency_table.h"
#include "scenarios/studies/fit/step_terms.h"
#include "scenarios/studies/validate/published_cases.h"

namespace orrery {

// How far a factor may go from what kernels take that are measured alone.
inline constexpr double kFactorMin = 0.8;
inline constexpr double kFactorMax = 1.5;
inline constexpr double kNoiseMax = 0.03;
// From the end of an exchange that the host waited for to the next kernel's start; not fitted, but
// measured in isolation by Jiang et al. (arXiv 2402.15627, Table 3): with TP 8, PP 8 and 6 chunks
// on 256 GPUs, a batch of 256 took 12.61 s with blocking exchanges (55.5 % MFU) and 12.06 s with
// decoupled ones (58.0 %). Of these 0.54 s (+-0.02: printed digits) the transfers that the
// simulator exposes are 0.15 s; the rest, over the 437 exchanges that its critical path goes
// through, is 0.91 ms (+-0.05). tests/scenarios/studies/fit/step_fit_test.cpp repeats it.
inline constexpr double kRestart_us = 910;

struct StepSample {
    std::string name;
    std::string family;
    std::string stack{};
    std::string generation;
    std::string dtype{};  // class of the plan's precision
    double measured_s = 0;
    double control_s = 0;  // scenarios/studies/validate/control.h, fitted on the same rows
    std::int64_t num_gpus = 1;
    // Seconds of kernels on a mean rank, by (factor, dtype class) of the table.
    std::map<std::pair<std::string, std::string>, double> kernels;
    // The same by (kind, dtype class).
    std::map<std::pair<KernelKind, std::string>, double> kinds{};
    double keys = 0;           // that attention goes over, the mean over its time; 0: none
    double bubble = 0;         // pipeline bubble and imbalance
    double restarts = 0;       // of the host, that the step waits for
    double communication = 0;  // and everything else that factors don't stretch
    // Relative standard deviation by communication and host, which no factor is about.
    double beside_kernels = 0;
    // By the distance of its products from measured ones, and by columns that its source does not
    // state (assumed_inputs.h).
    double distance = 0;
    double assumed = 0;
    bool fits = true;  // in the memory that the device has
};

struct StepFit {
    EfficiencyTable table;
    std::vector<StepSample> samples;
};

// Steps without factors, in the order of the rows, whatever the number of threads (0: one a core).
// Rows of models with experts, and rows that can't be expressed, are left out. `host`: what calls
// of the host cost (call_fit.h); without, a launch. Rows of `known` are not simulated.
Result<std::vector<StepSample>> sample_steps(const std::vector<PublishedCase>& cases,
                                             const Catalogue& catalogue,
                                             std::uint32_t jobs = 1,
                                             const EfficiencyTable& host = {},
                                             const RowTerms& known = {});

// The factors, without what they leave (unseen_fit.h).
Result<StepFit> fit_step_efficiency(const std::vector<PublishedCase>& cases,
                                    const Catalogue& catalogue,
                                    std::uint32_t jobs = 1,
                                    const RowTerms& known = {});

// What the simulations give of a sample, rounded; `kinds` is no term.
Terms terms_of(const StepSample& sample);

// The factors that fit these samples.
EfficiencyTable fit_factors(const std::vector<StepSample>& samples);
// The factors that fit the samples of all families but this one (of all, if empty).
EfficiencyTable fit_factors(const std::vector<StepSample>& samples,
                            const std::string& without_family);

// The step time of a sample under a table of factors, in seconds.
double predict_step(const StepSample& sample, const EfficiencyTable& table);

}  // namespace orrery
