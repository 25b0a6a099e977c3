// SPDX-License-Identifier: Apache-2.0
// Change of element type on a GPU between fp32 and bf16, with the same bits as
// kernels/cast/cast_cpu.h.
#pragma once

#include "kernels/tensor_view.h"

namespace orrery::device {

template <class Queue>
void cast(Queue& queue, ConstTensorView from, TensorView to);  // `to.size` elements

}  // namespace orrery::device
