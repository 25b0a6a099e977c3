// SPDX-License-Identifier: Apache-2.0
// Every rank's own rows in a step of a model with experts: the StepLoad of a lowered Program. The
// ranks that share a layer's experts draw together, once for each micro-batch.
//
// Rows of a rank are rounded to nine bits, a fifth of a percent, so that times are computed for a
// few hundred amounts, whatever the number of ranks. Exchanges have the rows as they are counted.
// Every sender's tokens choose alike; rows that are sent once for several experts grow as all rows.
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
    std::vector<KernelCall> kernels;   // behind Program::kernels
    std::vector<Cause> causes;         // by column of the load: of its ops
    std::vector<LayerRows> layers;     // role by role, by layer
    std::vector<double> rows_of_rank;  // in a step, over the mean of its role; 0: it has none
};

// None if all ranks have equally many rows, or if counts are known to kernels only
// (plan.moe_fused_kernels). `routed` as lower() gives it.
std::optional<RoutedStep> route_step(const Transformer& model,
                                     const ParallelPlan& plan,
                                     const Program& program,
                                     std::span<const RoutedTensor> routed);

}  // namespace orrery
