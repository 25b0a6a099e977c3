// SPDX-License-Identifier: Apache-2.0
// The memory of an instance's GPUs: weights, activations, and the remaining memory for keys and
// values.
#pragma once

#include <cstdint>

#include "engine/base/result.h"
#include "kernels/device_spec.h"
#include "models/transformer/transformer.h"
#include "scenarios/format/specs/serving_spec.h"

namespace orrery {

// The plan of a draft model, which runs on the ranks of the first stage.
ServingPlan draft_plan(ServingPlan plan);

// The number of blocks in an instance's cache: the memory that weights and activations leave on the
// fullest GPU. If that is less than one block, the Error has the figures.
Result<std::int64_t> cache_blocks(const ServingSpec& spec,
                                  const ServingPoolSpec& pool,
                                  const Transformer& model,
                                  const DeviceSpec& device);

}  // namespace orrery
