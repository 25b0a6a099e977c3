// SPDX-License-Identifier: Apache-2.0
// Quantisation in blocks on the CPU. The scale of a block is its largest magnitude over the largest
// code (127 or 7); codes are rounded to nearest, ties to even, so an element is off by half a scale
// at most. A block with an infinity or a NaN comes back as NaNs.
#pragma once

#include <span>

#include "kernels/quantise/quantise.h"
#include "kernels/tensor_view.h"

namespace orrery::cpu {

// `x`: tensors side by side, each cut into as many equal shards as there are parts (the last shards
// end with zeros); a part has its shard of each.
void quantise(const QuantisedVector& shape,
              PartOrder order,
              std::span<const ConstTensorView> x,
              TensorView codes);
// `codes` has `terms` vectors one after the other.
void requantise(const QuantisedVector& shape,
                std::int64_t terms,
                ConstTensorView codes,
                TensorView sum);
// `adds`: to what the tensors hold.
void dequantise(const QuantisedVector& shape,
                std::int64_t terms,
                ConstTensorView codes,
                std::span<const TensorView> y,
                bool adds);

}  // namespace orrery::cpu
