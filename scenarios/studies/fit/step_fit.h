// SPDX-License-Identifier: Apache-2.0
// Fits the general factors of step_efficiency.h on a table of measured training steps. Every step
// is simulated once without factors (network: analytic). Its kernel time by factor, its
// communication and its bubble then predict the step for any factors. The loss is the mean over
// families of the mean absolute log error, capped at 25 %, plus a weak pull of every factor towards
// 1. A deterministic pattern search minimises it.
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

// Bounds of a factor on the time of kernels measured alone.
inline constexpr double kFactorMin = 0.8;
inline constexpr double kFactorMax = 1.5;
inline constexpr double kNoiseMax = 0.03;
// Time from the end of an exchange that the host waited for to the start of the next kernel. It is
// not fitted, but measured in isolation by Jiang et al. (arXiv 2402.15627, Table 3): with TP 8, PP
// 8 and 6 chunks on 256 GPUs, a batch of 256 took 12.61 s with blocking exchanges (55.5 % MFU) and
// 12.06 s with decoupled ones (58.0 %). The simulator exposes transfers of 0.15 s of these 0.54 s
// (+-0.02: printed digits). The rest over the 437 exchanges on its critical path is 0.91 ms
// (+-0.05). tests/scenarios/studies/fit/step_fit_test.cpp repeats the calculation.
inline constexpr double kRestart_us = 910;

struct StepSample {
    std::string name;
    std::string family;
    std::string stack{};
    std::string generation;
    std::string dtype{};  // class of the plan's precision
    double measured_s = 0;
    double control_s = 0;  // by scenarios/studies/validate/control.h, fitted on the same rows
    std::int64_t num_gpus = 1;
    // Seconds of kernels on a mean rank, by (factor, dtype class) of the table.
    std::map<std::pair<std::string, std::string>, double> kernels;
    // The same by (kind, dtype class).
    std::map<std::pair<KernelKind, std::string>, double> kinds{};
    double keys = 0;           // mean number of keys over attention's time; 0: no attention
    double bubble = 0;         // pipeline bubble and imbalance
    double restarts = 0;       // number of the host's restarts on the critical path
    double communication = 0;  // and everything else that factors do not stretch
    // Relative standard deviation from communication and host, which factors do not cover.
    double beside_kernels = 0;
    // Relative standard deviations from the distance of its products to measured ones, and from
    // columns that its source does not state (assumed_inputs.h).
    double distance = 0;
    double assumed = 0;
    bool fits = true;  // in the device's memory
};

struct StepFit {
    EfficiencyTable table;
    std::vector<StepSample> samples;
};

// Steps without factors, in the order of the rows, for any number of threads (`jobs`; 0: one per
// core). Rows with experts and inexpressible rows are left out. `host` has the costs of host calls
// (call_fit.h); without it a call costs a launch. Rows of `known` are not simulated.
Result<std::vector<StepSample>> sample_steps(const std::vector<PublishedCase>& cases,
                                             const Catalogue& catalogue,
                                             std::uint32_t jobs = 1,
                                             const EfficiencyTable& host = {},
                                             const RowTerms& known = {});

// Fits the factors. set_residuals() adds their residuals (unseen_fit.h).
Result<StepFit> fit_step_efficiency(const std::vector<PublishedCase>& cases,
                                    const Catalogue& catalogue,
                                    std::uint32_t jobs = 1,
                                    const RowTerms& known = {});

// The sample's rounded terms. `kinds` is no term.
Terms terms_of(const StepSample& sample);

// Factors fitted on these samples.
EfficiencyTable fit_factors(const std::vector<StepSample>& samples);
// Factors fitted on the samples of all families but this one (of all, if empty).
EfficiencyTable fit_factors(const std::vector<StepSample>& samples,
                            const std::string& without_family);

// Step time of a sample under a table of factors, in seconds.
double predict_step(const StepSample& sample, const EfficiencyTable& table);

}  // namespace orrery
