// SPDX-License-Identifier: Apache-2.0
// Cross-entropy over logits [tokens, vocab] on the CPU: loss = log(sum_j exp(z_j)) - z_target, fp32
// math on fp32 or bf16 logits, sums in 16 lanes. Targets are int32 [tokens]. A target of
// kIgnoredTarget has loss 0 and gradient 0, and does not count in the mean. A rank of a
// vocabulary-parallel group has the columns first_column ... first_column + vocab - 1 and every
// token's target. It calls
//   cross_entropy_maximum, all-reduce(max), cross_entropy_sums, all-reduce(sum) of both tensors,
//   cross_entropy_finish; or, with one pass over the logits,
//   cross_entropy_local, all-reduce(max) of a copy of the maximum, cross_entropy_rescale,
//   all-reduce(sum) of sum_exp and target_logit, cross_entropy_finish.
#pragma once

#include "kernels/tensor_view.h"

namespace orrery::cpu {

inline constexpr std::int32_t kIgnoredTarget = -1;

struct CrossEntropyShape {
    std::int64_t tokens = 0;
    std::int64_t vocab = 0;         // columns on this rank
    std::int64_t first_column = 0;  // index of the rank's first column in the vocabulary
};

// Each is fp32 [tokens].
struct LossStatistics {
    TensorView maximum;
    TensorView sum_exp;  // sum_j exp(z_j - maximum)
    // 0 if the token is ignored, or if another rank has the target's column
    TensorView target_logit;
};

// A sum in double, over tokens in order. Micro-batches and ranks add both members.
struct LossSum {
    double sum = 0;
    std::int64_t tokens = 0;  // without ignored tokens
    double mean() const { return tokens > 0 ? sum / static_cast<double>(tokens) : 0.0; }
};

// With the whole vocabulary on this rank: the statistics, the losses (fp32 [tokens]) and their sum.
LossSum cross_entropy_forward(const CrossEntropyShape& shape,
                              ConstTensorView logits,
                              ConstTensorView targets,
                              const LossStatistics& statistics,
                              TensorView loss);

void cross_entropy_maximum(const CrossEntropyShape& shape,
                           ConstTensorView logits,
                           TensorView maximum);
// sum_exp and target_logit of this rank's columns, given the maximum over all columns.
void cross_entropy_sums(const CrossEntropyShape& shape,
                        ConstTensorView logits,
                        ConstTensorView targets,
                        const LossStatistics& statistics);
// All three statistics of this rank's columns. The unfused loss also stores the logits in fp32.
void cross_entropy_local(const CrossEntropyShape& shape,
                         ConstTensorView logits,
                         ConstTensorView targets,
                         const LossStatistics& statistics,
                         TensorView widened = {});
// sum_exp *= exp(local_maximum - statistics.maximum).
void cross_entropy_rescale(ConstTensorView local_maximum, const LossStatistics& statistics);
LossSum cross_entropy_finish(ConstTensorView targets,
                             const LossStatistics& statistics,
                             TensorView loss);

// In place: logits become scale (softmax(z) - [column = target]), from the statistics of all
// columns. scale = 1 / (tokens of the mean). If `widened` is given, z is read from it.
void cross_entropy_backward(const CrossEntropyShape& shape,
                            ConstTensorView targets,
                            const LossStatistics& statistics,
                            float scale,
                            TensorView logits,
                            ConstTensorView widened = {});

}  // namespace orrery::cpu
