// SPDX-License-Identifier: Apache-2.0
// The operands of every kernel, in order: what the lowering writes and what an executor reads. T is
// the transpose of an operand that is marked `transposed`; [ ] may be absent; … are several.
//
//   kind                    reads                                writes               accumulates
//   gemm                    A B [bias]                           C                    or C (C +=
//   AB) attention_forward       qkv                                  context lse          -
//   attention_backward      qkv context lse dcontext             dqkv                 -
//   layernorm_, rmsnorm_
//     forward               x weight                             y                    -
//     forward, fused        residual branch weight [bias …]      y sum                -
//     backward              dy x [dresidual] weight              dx                   dweight
//   rope                    -                                    -                    qkv (T: back)
//   gelu_, swiglu_forward   x                                    y                    -
//   gelu_, swiglu_backward  dy x                                 dx                   -
//   residual_add            a b [bias …]                         sum [mask]           -
//     of positions          table                                -                    x
//   bias_gradient           dy                                   -                    dbias or
//   dtable embedding_forward       tokens table                         rows                 -
//   embedding_backward      tokens drows                         -                    dtable
//   cross_entropy_forward   logits labels                        max sum target [p]   -
//     mean (vocab 1)        labels max sum target scalars        -                    loss
//     rescale (vocab 1)     own max, max of all                  -                    sum
//   cross_entropy_backward  labels max sum target [p] scalars    -                    logits
//   gradient_accumulate     gradient                             -                    sum
//   gradient_norm           gradient …                           squared norm         -
//   gradient_scale          squared norm, scalars                -                    gradient …
//   adamw, lamb             gradient … scalars                   weight …             state
//   cast                    x                                    y                    -
//
// Activations are (sequence, batch, width), row-major; qkv is packed: query heads, key heads, value
// heads. The weight of a norm is gamma, then (LayerNorm) beta. A gated activation's x is gate, then
// up. max, sum, target: fp32 for each token. The optimizer's state is m of all tensors, v of all
// tensors and, unless weights are fp32, their fp32 masters.
#pragma once

#include <string>

#include "engine/program.h"

namespace orrery {

// What is wrong with the operands of a kernel op: their number, or a size that does not go with the
// call's dimensions. Empty if nothing is.
std::string check_kernel_operands(const Program& program, const Op& op);

}  // namespace orrery
