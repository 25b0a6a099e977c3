// SPDX-License-Identifier: Apache-2.0
// The parameters of a layer's attention: its projections, and the norms of latents and heads.
#pragma once

#include <cstdint>

#include "models/transformer/transformer.h"

namespace orrery {

std::int64_t attention_parameters(const Transformer& model);

}  // namespace orrery
