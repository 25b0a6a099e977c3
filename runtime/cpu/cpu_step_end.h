// SPDX-License-Identifier: Apache-2.0
// The optimizer's kernels over all tensors of a rank (kernels/optimizer) on the CPU, and the device
// scalars that they read.
#pragma once

#include "engine/program/device_scalars.h"
#include "runtime/bound_op.h"

namespace orrery {

float device_scalar(ConstTensorView block, DeviceScalar scalar);
std::uint32_t device_scalar_bits(ConstTensorView block, DeviceScalar scalar);
std::uint64_t seed_of_run(ConstTensorView block);

void run_gradient_norm(const BoundOp& op);
void run_gradient_scale(const BoundOp& op);
void run_adamw(const BoundOp& op);
void run_lamb_update(const BoundOp& op);
void run_lamb(const BoundOp& op);

}  // namespace orrery
