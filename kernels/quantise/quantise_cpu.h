// SPDX-License-Identifier: Apache-2.0
// Quantisation in blocks on the CPU. The scale of a block is its largest magnitude over the largest
// code (127 or 7). Codes are rounded to nearest, ties to even, so that the error of an element is
// at most half a scale. A block with an infinity or a NaN becomes NaNs.
#pragma once

#include <span>

#include "kernels/quantise/quantise.h"
#include "kernels/tensor_view.h"

namespace orrery::cpu {

// `x` are tensors side by side. Each is cut into one equal shard per part; the last shards are
// padded with zeros. A part has its shard of each tensor.
void quantise(const QuantisedVector& shape,
              PartOrder order,
              std::span<const ConstTensorView> x,
              TensorView codes);
// `codes` has `terms` vectors, one after the other.
void requantise(const QuantisedVector& shape,
                std::int64_t terms,
                ConstTensorView codes,
                TensorView sum);
// `adds`: adds to the tensors instead of overwriting them.
void dequantise(const QuantisedVector& shape,
                std::int64_t terms,
                ConstTensorView codes,
                std::span<const TensorView> y,
                bool adds);

}  // namespace orrery::cpu
