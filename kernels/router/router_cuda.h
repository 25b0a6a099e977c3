// SPDX-License-Identifier: Apache-2.0
// The router of a mixture of experts on a GPU: the functions of kernels/router/router_cpu.h, for up
// to 4096 experts and 32 experts per token.
#pragma once

#include <string>

#include "kernels/router/router_cpu.h"

namespace orrery::device {

inline constexpr std::int64_t kRouterExpertsMax = 4096;
inline constexpr std::int64_t kRouterChoicesMax = 32;

inline std::string why_no_router(const RouterShape& shape) {
    if (shape.balanced) {
        return "the gradient of the loss that balances experts has no kernel on a GPU yet";
    }
    return shape.experts <= kRouterExpertsMax && shape.k <= kRouterChoicesMax
               ? ""
               : "the router on a GPU takes up to 4096 experts, of which a token has up to 32";
}

template <class Queue>
void router_forward(Queue& queue,
                    const RouterShape& shape,
                    ConstTensorView logits,
                    ConstTensorView bias,
                    TensorView weights,
                    TensorView experts);
template <class Queue>
void router_backward(Queue& queue,
                     const RouterShape& shape,
                     ConstTensorView dweights,
                     ConstTensorView logits,
                     ConstTensorView experts,
                     TensorView dlogits);

}  // namespace orrery::device
