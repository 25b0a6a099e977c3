// SPDX-License-Identifier: Apache-2.0
// A layer of experts as frameworks run it today, for tables that time one by itself: which kernels,
// and which rows go where between them.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/program/kernel_call.h"
#include "network/collectives/dispatcher.h"

namespace orrery {

struct MoeLayer {
    std::int64_t tokens = 0;  // of a GPU
    std::int64_t hidden = 0;
    std::int64_t width = 0;  // of an expert
    std::int64_t experts = 1;
    std::int64_t topk = 1;
    std::int64_t ranks = 1;       // that share the experts evenly
    Dtype compute = Dtype::bf16;  // fp32, fp16, bf16; of block-scaled FP8 what is not a product
    bool block_fp8 = false;       // products of experts
    const Dispatcher* dispatcher = nullptr;  // null: all experts are here
    double distinct = 0;                     // rows that arrive, each token once; two levels only
    std::int64_t rows() const { return tokens * topk; }  // of the experts here, if balanced
};

// Of one pass, in order; exchanges are not among them: one dispatch and one combine a pass.
//
// Megatron-Core's layer of two matrices and GELU: router in FP32, permutation, products, and an
// activation that PyTorch runs operator by operator: GELU, the product with the FP32 probabilities,
// which is FP32, and the cast back.
std::vector<KernelCall> megatron_forward(const MoeLayer& layer);
std::vector<KernelCall> megatron_backward(const MoeLayer& layer);
// Tutel's layer of two matrices and ReLU on one GPU: forward, backward and a step of SGD.
std::vector<KernelCall> tutel_step(const MoeLayer& layer);

}  // namespace orrery
