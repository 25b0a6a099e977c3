// SPDX-License-Identifier: Apache-2.0
// The kernels that a Program may name. KernelKind, name(KernelKind) and kNumKernelKinds are
// generated from these rows. The descriptor of a kernel has its meaning and its cost
// (kernels/kernel_list.h).
#pragma once

#define ORRERY_KERNEL_KINDS(KIND)                                                     \
    KIND(gemm)              /* cuBLASLt, optional batch and fused epilogue */         \
    KIND(attention_forward) /* flash attention */                                     \
    KIND(attention_backward)                                                          \
    KIND(softmax_forward) /* unfused attention: scale, mask, softmax (and dropout) */ \
    KIND(softmax_backward)                                                            \
    KIND(layernorm_forward)                                                           \
    KIND(layernorm_backward)                                                          \
    KIND(rmsnorm_forward)                                                             \
    KIND(rmsnorm_backward)                                                            \
    KIND(rope) /* forward or backward, in place on Q and K */                         \
    KIND(gelu_forward)                                                                \
    KIND(gelu_backward)                                                               \
    KIND(swiglu_forward)                                                              \
    KIND(swiglu_backward)                                                             \
    KIND(residual_add)                                                                \
    KIND(dropout)                                                                     \
    KIND(bias_gradient) /* column sums */                                             \
    KIND(embedding_forward)                                                           \
    KIND(embedding_backward)                                                          \
    KIND(cross_entropy_forward) /* vocabulary-parallel pieces included */             \
    KIND(cross_entropy_backward)                                                      \
    KIND(cast)                /* dtype change, fp8 amax and transpose-cast */         \
    KIND(gradient_accumulate) /* main_grad += grad */                                 \
    KIND(gradient_norm)                                                               \
    KIND(gradient_scale)                                                              \
    KIND(adamw)                                                                       \
    KIND(lamb_update)    /* moments, the update in the gradients' place, its norms */ \
    KIND(lamb)           /* the update times its trust ratio added to the weights */  \
    KIND(transpose)      /* layout change in memory */                                \
    KIND(router_forward) /* experts of a token: scores, the k best, their weights */  \
    KIND(router_backward)                                                             \
    KIND(expert_counts) /* tokens of each expert; a capacity drops the others */      \
    KIND(permute)       /* a row for each expert of a token, ordered by expert */     \
    KIND(unpermute)     /* the sum of each token's rows */                            \
    KIND(expert_bias)   /* biases of the choice of experts, from their tokens */      \
    KIND(quantise)      /* codes of 8 or 4 bits, a scale for each block */            \
    KIND(requantise)    /* the sum of quantised vectors, quantised anew */            \
    KIND(dequantise)    /* the sum of quantised vectors, as elements */
