// SPDX-License-Identifier: Apache-2.0
// The rows of every rank in a step of a model with experts: the StepLoad of a lowered Program. The
// ranks that share a layer's experts draw together, once for each micro-batch.
//
// A rank's number of rows is rounded to nine bits (0.2 %). Kernel times are then computed for a few
// hundred numbers, whatever the number of ranks. Exchanges use the exact counts. The tokens of all
// senders choose experts with the same likelihoods. Rows that are sent once for several experts are
// scaled like all rows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/program/cause.h"
#include "engine/program/kernel_call.h"
#include "engine/program/program.h"
#include "engine/program/step_load.h"
#include "models/plan/layer_rows.h"
#include "models/plan/plan.h"
#include "models/plan/routed_tensor.h"
#include "models/transformer/transformer.h"

namespace orrery {

struct RoutedStep {
    StepLoad load;
    std::vector<KernelCall> kernels;   // appended to Program::kernels
    std::vector<Cause> causes;         // by column of the load: the cause of its ops
    std::vector<LayerRows> layers;     // by role, then by layer
    std::vector<double> rows_of_rank;  // in a step, over the mean of its role; 0: it has no rows
};

// Empty if all ranks have the same number of rows, or if only kernels know the counts
// (plan.moe_fused_kernels). `routed` is the output of lower().
std::optional<RoutedStep> route_step(const Transformer& model,
                                     const ParallelPlan& plan,
                                     const Program& program,
                                     std::span<const RoutedTensor> routed);

}  // namespace orrery
