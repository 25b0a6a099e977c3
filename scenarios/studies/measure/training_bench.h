// SPDX-License-Identifier: Apache-2.0
// The training speed of a scenario's model on a device of this machine, with random tokens,
// compared with two predictions: from the simulator's tables, and from the kernel times of this
// run.
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
    double drawing_s = 0;  // for drawing the initial weights
    std::int64_t parameters = 0;
    std::int64_t tokens_per_step = 0;
    std::int64_t steps = 0;
    double step_s = 0;  // the median
    double slowest_s = 0;
    double first_loss = 0;
    double last_loss = 0;
    double mfu_causal = 0;  // 6 N and the unmasked part of attention
    double mfu_full = 0;    // 6 N and all attention
    double predicted_s = 0;
    double predicted_with_profile_s = 0;
    std::vector<MeasuredKind> kernels;
    std::vector<std::string> notes;  // notes of the executor
    double tokens_per_second() const { return static_cast<double>(tokens_per_step) / step_s; }
};

// Trains a scenario with one device: first a few steps in which kernels are timed, then `steps`
// that count. `on_step` is called after each. Writes the kernels' times to `profile_file`.
Result<TrainingBench> bench_training(
    const Scenario& scenario,
    DeviceChoice device,
    std::int64_t steps,
    const std::string& profile_file,
    const std::function<void(const StepReport&)>& on_step = [](const StepReport&) {});

std::string bench_report(const Scenario& scenario, const TrainingBench& bench);

// The header of a table of benches, and a row.
std::string bench_columns();
std::string bench_row(const Scenario& scenario,
                      const TrainingBench& bench,
                      const std::string& without);

}  // namespace orrery
