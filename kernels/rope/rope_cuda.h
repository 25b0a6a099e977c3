// SPDX-License-Identifier: Apache-2.0
// Rotary position embedding on a GPU, in place: the functions of kernels/rope/rope_cpu.h. Angles
// are reduced to one turn in fp64. Heads have up to 256 columns.
#pragma once

#include "kernels/rope/rope_cpu.h"

namespace orrery::device {

inline constexpr std::int64_t kRopeHeadMax = 256;

template <class Queue>
void rope_forward(Queue& queue, const cpu::RopeShape& shape, TensorView qkv);
template <class Queue>
void rope_backward(Queue& queue, const cpu::RopeShape& shape, TensorView dqkv);

}  // namespace orrery::device
