// SPDX-License-Identifier: Apache-2.0
// What a real run measured beside what the simulator predicts for the same kernels of the same
// Program, by kind of kernel.
#pragma once

#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/program/kernel_call.h"
#include "runtime/measure/op_times.h"
#include "scenarios/format/specs/scenario.h"

namespace orrery {

struct MeasuredKind {
    KernelKind kind = KernelKind::gemm;
    std::int64_t runs = 0;  // of one rank in a step
    double measured_s = 0;  // all runs together, by the medians of each shape
    double predicted_s = 0;
};

// Of the kernels that a rank of the first role runs, the longest first. Predictions are the cost
// model's for the scenario's device, as `orrery simulate` makes them, with measured times of a file
// if one is given.
Result<std::vector<MeasuredKind>> compare_kernels(const Scenario& scenario,
                                                  const Program& program,
                                                  const OpTimes& times,
                                                  const std::string& profile_file = {});

std::string measured_report(const std::vector<MeasuredKind>& kinds);

}  // namespace orrery
