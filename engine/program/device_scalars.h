// SPDX-License-Identifier: Apache-2.0
// The device scalar block: fp32 values that change from step to step without a change of Program.
// The host writes them before the step; kernels that need one have the block as an operand.
#pragma once

#include <cstdint>

namespace orrery {

enum class DeviceScalar : std::uint8_t {
    loss_scale,  // what the loss of a token weighs: 1 / (tokens of the global batch)
    learning_rate,
    beta1,
    beta2,
    epsilon,
    weight_decay,  // of matrices; vectors (norms, biases) do not decay
    clip_norm,     // largest gradient norm; 0: no clipping
    step,          // of the optimizer, from 1; exact up to 2^24
    dropout,       // rate of all dropouts; 0 in an evaluation
    // Bits, not values: the seed's halves, and the micro-batches over all data ranks before the
    // step (the round of kernels/random.h).
    seed_low,
    seed_high,
    first_round,
    balance,      // coefficient of the loss that balances experts
    bias_update,  // of a step, to the biases by which experts are chosen
};
inline constexpr std::int64_t kNumDeviceScalars = 16;

}  // namespace orrery
