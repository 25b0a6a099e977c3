// SPDX-License-Identifier: Apache-2.0
// The router of a mixture of experts by its definition: sorts in float64, and a loss whose
// derivative the backward pass must be.
#pragma once

#include "kernels/router/router.h"
#include "tests/kernels/numeric.h"

namespace orrery::numeric {

struct Routed {
    std::vector<std::int32_t> experts;  // [tokens, k], the best first
    Doubles weights;
};

Routed slow_router(const RouterShape& shape, const Doubles& logits, const Doubles& bias);
// Of experts that are chosen already.
Doubles slow_router_weights(const RouterShape& shape,
                            const Doubles& logits,
                            const std::vector<std::int32_t>& experts);

// With k <= 8 and any of the variants.
RouterShape draw_router(Draw& draw);

}  // namespace orrery::numeric
