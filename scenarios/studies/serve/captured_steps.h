// SPDX-License-Identifier: Apache-2.0
// The steps that CUDA graphs replay. Engines capture a graph for some numbers of sequences and fill
// a step up to the next number.
#pragma once

#include "engine/serving/batch_scheduler.h"
#include "models/plan/batch_shape.h"
#include "models/serving/serving_plan.h"
#include "scenarios/format/specs/serving_spec.h"

namespace orrery {

// Whether a graph holds the step; the host launches the kernels of the others.
bool is_captured(const ServingEngine& engine, const Batch& batch, bool generates);

// The shape of a captured step with the sequences that fill its graph up, on every data-parallel
// rank.
BatchShape filled_graph(const ServingEngine& engine, const ServingPlan& plan, BatchShape shape);

}  // namespace orrery
