// SPDX-License-Identifier: Apache-2.0
// The operands of every kernel, in order: what the lowering writes and what an executor reads. T is
// the transpose of an operand that is marked `transposed`; [ ] may be absent; … are several.
//
//   kind                    reads                                writes               accumulates
//   gemm                    A B [bias]                           C                    or C (+= A B)
//     of all heads          A B, parts of qkv or not             C, part or not       -
//   attention_forward       qkv [scalars]                        context lse          -
//     step of a ring        qkv block [scalars]                  -                    context lse
//   attention_backward      qkv context lse dcontext [scalars]   dqkv                 -
//     step of a ring        qkv block context lse dcontext
//                           [scalars]                            dblock (first: dqkv) dqkv
//                           (queries)
//   softmax_forward         scores [scalars]                     p [mask dropped]     -
//   softmax_backward        p [mask scalars]                     -                    gradient
//   transpose               qkv                                  block                -
//     of queries            qkv block                            qkv                  -
//   layernorm_, rmsnorm_
//     forward               x weight                             y                    -
//     forward, fused        residual branch weight [bias …]      y sum                -
//     backward              dy x [dresidual] weight              dx                   dweight
//   rope                    -                                    -                    qkv (T: back)
//   gelu_, swiglu_forward   x (gate: y = f(gate))                y                    -
//   gelu_, swiglu_backward  dy x (gate: nothing times up)        dx                   -
//   residual_add            a b [bias …]                         sum                  -
//     with dropout          a b [bias …] scalars                 sum mask             -
//     of positions          table                                -                    x
//     of gradients          dblock …                             -                    dblock, dqkv
//     product with up       x (up)                               -                    y, dx (gate)
//   dropout                 scalars                              mask                 x
//     backward              dy mask scalars                      dx                   -
//   bias_gradient           dy                                   -                    dbias, dtable
//   embedding_forward       tokens table                         rows                 -
//   embedding_backward      tokens drows                         -                    dtable
//   cross_entropy_forward   logits labels                        max sum target [p]   -
//     mean (vocab 1)        labels max sum target scalars        -                    loss
//     rescale (vocab 1)     own max, max of all                  -                    sum
//   cross_entropy_backward  labels max sum target [p] scalars    -                    logits
//   gradient_accumulate     gradient                             -                    sum
//   gradient_norm           gradient …                           squared norm         -
//   gradient_scale          squared norm, scalars                -                    gradient …
//   adamw                   gradient … scalars                   weight …             state
//   lamb_update             weight … scalars                     norms                gradient …,
//                                                                                     state
//   lamb                    update … scalars norms               weight …             state
//   cast                    x                                    y                    -
//
// Activations are (sequence, batch, width), row-major; qkv is packed: query heads, key heads, value
// heads; a block: key heads, value heads. Scores and what is made of them are (sequence,
// batch, heads x keys). The weight of a norm is gamma, then (LayerNorm) beta. A gated activation's
// x is gate, then up; (gate), (up): only that part. p: the logits in fp32, which the backward pass
// makes probabilities of. max, sum, target: fp32 for each token. Masks are bytes, 1 where kept.
// Scalars stand with attention, softmax and residual_add where the model has dropout. The
// optimizer's state is m of all tensors, v of all tensors and, unless they are their own, their
// fp32 masters.
#pragma once

#include <string>

#include "engine/program.h"

namespace orrery {

// What is wrong with the operands of a kernel op: their number, or a size that does not go with the
// call's dimensions. Empty if nothing is. `rank`: any rank of the op's role.
std::string check_kernel_operands(const Program& program, RankId rank, const Op& op);

}  // namespace orrery
