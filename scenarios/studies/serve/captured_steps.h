// SPDX-License-Identifier: Apache-2.0
// The steps that CUDA graphs replay. Engines capture a graph for some numbers of sequences and fill
// a step up to the next number.
#pragma once

#include <cstdint>

#include "engine/serving/batch_scheduler.h"
#include "models/plan/batch_shape.h"
#include "models/serving/serving_plan.h"
#include "scenarios/format/specs/serving_spec.h"

namespace orrery {

// What graphs hold of a step; the host launches the other kernels.
enum class Capture : std::uint8_t {
    nothing,
    pieces,  // all but attention
    whole,
};

// `shape` is the batch's.
Capture capture_of(const ServingEngine& engine,
                   const ServingPlan& plan,
                   const Batch& batch,
                   const BatchShape& shape);

// The shape of a captured step with the sequences that fill its graph up, on every data-parallel
// rank.
BatchShape filled_graph(const ServingEngine& engine, const ServingPlan& plan, BatchShape shape);

}  // namespace orrery
