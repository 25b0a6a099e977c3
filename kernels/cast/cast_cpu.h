// SPDX-License-Identifier: Apache-2.0
// Change of element type on the CPU between fp32 and bf16 (to nearest, ties to even), the types
// used for training.
#pragma once

#include "kernels/tensor_view.h"

namespace orrery::cpu {

void cast(ConstTensorView from, TensorView to);  // `to.size` elements

}  // namespace orrery::cpu
