// SPDX-License-Identifier: Apache-2.0
// The device scalar block: fp32 values that change from step to step while the Program stays the
// same. The host writes them before the step. Kernels that need one have the block as an operand.
#pragma once

#include <cstdint>

namespace orrery {

enum class DeviceScalar : std::uint8_t {
    loss_scale,  // weight of a token's loss: 1 / (tokens of the global batch)
    learning_rate,
    beta1,
    beta2,
    epsilon,
    weight_decay,  // of matrices; vectors (norms, biases) have no weight decay
    clip_norm,     // largest gradient norm; 0: no clipping
    step,          // of the optimizer, from 1; exact up to 2^24
    dropout,       // rate of all dropouts; 0 in an evaluation
    // Bits, not values: the halves of the seed, and the number of micro-batches of all
    // data-parallel ranks before this step (the round of kernels/random.h).
    seed_low,
    seed_high,
    first_round,
    balance,      // coefficient of the loss that balances experts
    bias_update,  // step by which an expert's selection bias changes
};
inline constexpr std::int64_t kNumDeviceScalars = 16;

}  // namespace orrery
