// SPDX-License-Identifier: Apache-2.0
// Measured and predicted times of the kernels of one Program, by kind of kernel.
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
    std::int64_t runs = 0;  // runs of one rank in a step
    double measured_s = 0;  // sum over all runs of the median of each shape
    double predicted_s = 0;
};

// The kernels of a rank of the first role, the longest first. Predictions are the cost model's for
// the scenario's device, as in `orrery simulate`, with measured times of a file if one is given.
Result<std::vector<MeasuredKind>> compare_kernels(const Scenario& scenario,
                                                  const Program& program,
                                                  const OpTimes& times,
                                                  const std::string& profile_file = {});

std::string measured_report(const std::vector<MeasuredKind>& kinds);

}  // namespace orrery
