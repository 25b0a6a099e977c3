// SPDX-License-Identifier: Apache-2.0
// The kernel of kernels/cast/cast_cuda.h.
#pragma once

#include "kernels/cast/cast_cuda.h"
#include "kernels/cuda/flat_sum.h"

namespace orrery::device {

template <class Queue>
void cast(Queue& queue, ConstTensorView from, TensorView to) {
    flat_sum(queue, from, {}, to);
}

}  // namespace orrery::device
