// SPDX-License-Identifier: Apache-2.0
// Plain passes over memory on a GPU: the functions of kernels/elementwise/elementwise_cpu.h, and
// y = a x + b y (which fills, scales, adds and copies), and a checksum that finds flipped bits.
#pragma once

#include <span>

#include "kernels/elementwise/elementwise_cpu.h"

namespace orrery::device {

// At most kReduceChunksMax chunks, all of one type; `sum` may be one of them.
inline constexpr std::size_t kReduceChunksMax = 64;
template <class Queue>
void reduce_local(Queue& queue, std::span<const ConstTensorView> chunks, TensorView sum);

template <class Queue>
void transpose(Queue& queue,
               std::int64_t rows,
               std::int64_t columns,
               ConstTensorView matrix,
               TensorView transposed);

// b = 0: y is not read; a = 0: x is not (it may be empty).
template <class Queue>
void scale_add(Queue& queue, float a, ConstTensorView x, float b, TensorView y);

// The sum modulo 2^64 of mix_word(i, word i) over the 4-byte words of `data`, of which the last is
// filled up with zeros: any order of the sum gives the same bits, and one changed bit another sum.
// `sum`: int32 [2], low word first.
template <class Queue>
void checksum(Queue& queue, ConstTensorView data, TensorView sum);

}  // namespace orrery::device
