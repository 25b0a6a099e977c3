// SPDX-License-Identifier: Apache-2.0
// The memory of an instance's GPUs: weights, activations and what is left for keys and values.
#pragma once

#include <cstdint>

#include "engine/base/result.h"
#include "kernels/device_spec.h"
#include "models/transformer/transformer.h"
#include "scenarios/format/specs/serving_spec.h"

namespace orrery {

// The plan of a draft, which stands on the ranks of the first stage.
ServingPlan draft_plan(ServingPlan plan);

// Blocks of an instance's cache: what the fullest GPU has left beside its weights. An Error if that
// is not a block, with the figures.
Result<std::int64_t> cache_blocks(const ServingSpec& spec,
                                  const ServingPoolSpec& pool,
                                  const Transformer& model,
                                  const DeviceSpec& device);

}  // namespace orrery
