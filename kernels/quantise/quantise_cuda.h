// SPDX-License-Identifier: Apache-2.0
// Quantisation in blocks on a GPU, with the same bits as kernels/quantise/quantise_cpu.h: one block
// of threads per block of elements.
#pragma once

#include <span>

#include "kernels/quantise/quantise.h"
#include "kernels/tensor_view.h"

namespace orrery::device {

// The limit of tensors in a call, which are arguments of one launch.
inline constexpr std::size_t kQuantisedTensorsMax = 96;

template <class Queue>
void quantise(Queue& queue,
              const QuantisedVector& shape,
              PartOrder order,
              std::span<const ConstTensorView> x,
              TensorView codes);
template <class Queue>
void requantise(Queue& queue,
                const QuantisedVector& shape,
                std::int64_t terms,
                ConstTensorView codes,
                TensorView sum);
template <class Queue>
void dequantise(Queue& queue,
                const QuantisedVector& shape,
                std::int64_t terms,
                ConstTensorView codes,
                std::span<const TensorView> y,
                bool adds);

}  // namespace orrery::device
