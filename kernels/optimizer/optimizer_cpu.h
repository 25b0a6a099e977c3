// SPDX-License-Identifier: Apache-2.0
// The end of a step on the CPU, one tensor (or shard of one) per call. m, v and master are fp32;
// gradients and parameters are fp32 or bf16. Without `master` a parameter is its own master, as
// fp32 parameters always are.
//   AdamW (Loshchilov and Hutter, arXiv 1711.05101): m = b1 m + (1 - b1) g;
//   v = b2 v + (1 - b2) g^2; w -= lr (m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + epsilon)
//   + weight_decay w).
//   LAMB (You et al., arXiv 1904.00962): the same bracket as `update`,
//   w -= lr |w| / |update| update.
#pragma once

#include <span>

#include "kernels/optimizer/parameter_place.h"
#include "kernels/random.h"
#include "kernels/tensor_view.h"

namespace orrery::cpu {

// sum += gradient, in the precision of `sum`.
void gradient_accumulate(ConstTensorView gradient, TensorView sum);

// Squared L2 norm: fp32 elements are squared in double and summed in blocks of kNormBlock elements,
// then the blocks in order. A rank adds its tensors in order; ranks with different gradients
// all-reduce the result.
inline constexpr std::int64_t kNormBlock = 4096;
double squared_norm(ConstTensorView gradient);
// min(1, max_norm / (norm + 1e-6)), as in Megatron-LM's clip_by_total_norm_fp32; max_norm <= 0: 1.
float clip_factor(double norm, double max_norm);
void gradient_scale(TensorView gradient, float factor);

struct OptimizerArguments {
    float learning_rate = 0.0f;
    float beta1 = 0.9f;
    float beta2 = 0.95f;
    float epsilon = 1e-8f;
    float weight_decay = 0.0f;
    std::int64_t step = 1;         // from 1
    float gradient_factor = 1.0f;  // clipping and averaging without a separate pass
    // Rounding of a bf16 parameter: up with a probability equal to the discarded part, or to
    // nearest.
    bool stochastic_rounding = false;
    RandomKey rounding{};    // purpose stochastic_rounding, stream = tensor, round = step
    ParameterPlace place{};  // place of this shard in the tensor, for random numbers
};

struct OptimizerTensors {
    ConstTensorView gradient;
    TensorView m;
    TensorView v;
    TensorView master{};  // fp32 copy of a bf16 parameter; empty: none
    TensorView parameter;
};

void adamw(const OptimizerArguments& arguments, const OptimizerTensors& tensors);

// Squared norms of a tensor's weight and update, in double. Ranks with shards of the tensor sum
// them.
struct LambNorms {
    double weight = 0;
    double update = 0;
};
LambNorms lamb_update(const OptimizerArguments& arguments,
                      const OptimizerTensors& tensors,
                      TensorView update);  // fp32
void lamb_apply(const OptimizerArguments& arguments,
                const LambNorms& norms,
                ConstTensorView update,
                const OptimizerTensors& tensors);

// Rounds to bf16, up with the probability (low 16 bits of value) / 2^16. `word` must be uniform.
std::uint16_t bf16_stochastic(float value, std::uint32_t word);

}  // namespace orrery::cpu
