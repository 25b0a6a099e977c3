// SPDX-License-Identifier: Apache-2.0
// What the operators of an eager framework move where a compiler or a fused kernel moves less: the
// bytes that they read and write for each element, in 16 bits if nothing else is said. What the
// kernel of the Program moves itself is subtracted, so that these bytes come on top.
#pragma once

#include <cstdint>

namespace orrery {

struct ChainBytes {
    std::int64_t forward;
    std::int64_t backward;
};

// GELU's tanh formula (nanoGPT's new_gelu). Forward: cube 4, scaled 4, added to x 6, scaled 4, tanh
// 4, plus one 4, half of x 4, product 6. Backward: both factors 12, half 4, tanh 6, two scales 8,
// cube 14, two sums 12. Its kernel has 4 and 6.
constexpr ChainBytes kGeluChain{.forward = 36 - 4, .backward = 56 - 6};
// Autocast takes the cube in fp32, and what follows stays fp32 until the next product casts it.
constexpr ChainBytes kGeluChainInFp32{.forward = 76 - 4, .backward = 118 - 6};

// RMSNorm in fp32. Forward: pow(2) 8, mean 4, product with the root 8, type_as 6 (Hugging Face's
// LlamaRMSNorm; torchtune's and torchtitan's have the same operators), of which norm_forward() has
// 4. Backward, as autograd derives it: weight 12, type_as 6, product 24, mean 4, pow 28, sum of the
// two paths 12, copy 6, of which norm_backward() has 6 and the copy of dy 6.
constexpr ChainBytes kNormChain{.forward = 26 - 4, .backward = 92 - 12};

// What autocast adds to LayerNorm's kernels and to the residual: an fp32 input, result, cast of the
// result, and sum. Fused kernels keep the result in 16 bits.
constexpr ChainBytes kAutocastNorm{.forward = 4 + 6 + 4, .backward = 6 + 6 + 6};
constexpr ChainBytes kAutocastFusedNorm{.forward = 4, .backward = 8};

// Autocast's softmax is fp32: it writes fp32 probabilities, which its backward pass reads. Without
// a compiler its input and its result are cast by kernels of their own.
constexpr ChainBytes kAutocastSoftmax{.forward = 6 + 4 + 6, .backward = 6 + 6 + 6};
constexpr ChainBytes kAutocastFusedSoftmax{.forward = 4, .backward = 2};

// Megatron-Core's fused activation does not clamp. Three kernels before it clamp gate and up and
// concatenate them again, and three kernels after its backward pass undo that
// (megatron/core/fusions/fused_bias_geglu.py). They read and write 8 times half of fc1's width in
// the forward pass, and 10 times in the backward pass: bytes of an element of fc1. Their copy of
// fc1 is not kept here.
constexpr ChainBytes kClampChain{.forward = 8, .backward = 10};
constexpr std::uint8_t kClampKernels = 3;

// Megatron-Core's _apply_rotary_pos_emb_bshd (rope_utils.py) without fusion (plan.eager_rope), in
// addition to the kernel that packs the heads of multi-latent attention. Seven forward kernels and
// eleven backward kernels write as many elements as the rotated part of the queries has.
constexpr ChainBytes kRotaryChain{.forward = 7 * 4, .backward = 11 * 4};
// Queries and the shared key have 13 each: concatenated halves; cosine, its scale and type; the
// same for the sine; two products; a half negated and concatenated; the sum; the concatenation with
// the unrotated part. Two more concatenate the keys and copy the values.
constexpr std::uint8_t kRotaryKernels = 28;
// Autograd has 14 each: two products, a negated half, the concatenated halves, a sum, and for four
// slices four zeros, three copies and two sums. Two more are for values and the shared key.
constexpr std::uint8_t kRotaryBackwardKernels = 30;

// What Transformer Engine's UnfusedDotProductAttention does around its three kernels
// (plan.eager_attention; pytorch/attention.py and dot_product_attention/utils.py at bee4649c,
// get_full_mask()). The mask has eleven operators: two ranges, their difference, two sums, two
// comparisons, two choices of 64-bit integers, their difference and its negation. Bytes of a score
// of one head, as all heads share the mask: 4 + 8 + 8 + 5 + 9 + 5 + 9 + 24 + 9.
constexpr std::int64_t kMaskChain = 81;
constexpr std::uint8_t kMaskKernels = 11;
// The context's heads are put in order by a copy: bytes of its element.
constexpr std::int64_t kContextCopy = 4;
// Autograd scales the gradients of queries and of keys (torch.baddbmm with alpha).
constexpr std::int64_t kScaledGradient = 4;
constexpr std::uint8_t kScaledGradientKernels = 2;

}  // namespace orrery
