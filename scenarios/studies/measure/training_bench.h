// SPDX-License-Identifier: Apache-2.0
// How fast a scenario's model trains on a device of this machine, on made-up tokens, beside what
// the simulator predicts: once from its tables, once with the kernel times that this run measured.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "runtime/trainer.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/studies/measure/measured_step.h"

namespace orrery {

struct TrainingBench {
    std::string device;
    double drawing_s = 0;  // of the initial weights
    std::int64_t parameters = 0;
    std::int64_t tokens_per_step = 0;
    std::int64_t steps = 0;
    double step_s = 0;  // the median
    double slowest_s = 0;
    double first_loss = 0;
    double last_loss = 0;
    double mfu_causal = 0;  // 6 N and the attention that the mask leaves
    double mfu_full = 0;    // 6 N and all of it
    double predicted_s = 0;
    double predicted_with_profile_s = 0;
    std::vector<MeasuredKind> kernels;
    std::vector<std::string> notes;  // of the executor
    double tokens_per_second() const { return static_cast<double>(tokens_per_step) / step_s; }
};

// Trains a scenario of one device: a few steps in which kernels are timed, then `steps` that count.
// `on_step` gets each as it is done. Writes the kernels' times to `profile_file`.
Result<TrainingBench> bench_training(
    const Scenario& scenario,
    DeviceChoice device,
    std::int64_t steps,
    const std::string& profile_file,
    const std::function<void(const StepReport&)>& on_step = [](const StepReport&) {});

std::string bench_report(const Scenario& scenario, const TrainingBench& bench);

// A table of benches, one a line: what the columns are called, and a line.
std::string bench_columns();
std::string bench_row(const Scenario& scenario,
                      const TrainingBench& bench,
                      const std::string& without);

}  // namespace orrery
