// SPDX-License-Identifier: Apache-2.0
// Rules of a model by itself, whatever the plan.
#pragma once

#include <cstdint>

#include "engine/base/result.h"
#include "models/transformer/transformer.h"

namespace orrery {

// The most of any count: the product of two stays in range.
inline constexpr std::int64_t kSizeMax = 1'000'000'000;

// Sizes that are out of range. Each error names a key. Other rules divide by these sizes.
Errors check_model_sizes(const Transformer& model);

// Keys that contradict each other; the sizes are in range.
Errors check_model_shape(const Transformer& model);

}  // namespace orrery
