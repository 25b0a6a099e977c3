// SPDX-License-Identifier: Apache-2.0
// Kernels of a layer of experts in current frameworks, and the rows that move between them, for
// tables that time such a layer by itself.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/program/kernel_call.h"
#include "network/collectives/dispatcher.h"

namespace orrery {

struct MoeLayer {
    std::int64_t tokens = 0;  // per GPU
    std::int64_t hidden = 0;
    std::int64_t width = 0;  // of an expert
    std::int64_t experts = 1;
    std::int64_t topk = 1;
    std::int64_t ranks = 1;       // experts are spread evenly over them
    Dtype compute = Dtype::bf16;  // fp32, fp16, bf16; with block_fp8 the type outside products
    bool block_fp8 = false;       // products of experts in block-scaled FP8
    const Dispatcher* dispatcher = nullptr;  // null: all experts are on this GPU
    double distinct = 0;  // arriving rows, each token once; only for two-level dispatchers
    std::int64_t rows() const { return tokens * topk; }  // of the local experts, if balanced
};

// Kernels of one pass, in order. The exchanges (one dispatch and one combine per pass) are not
// included.
//
// Megatron-Core's layer has two matrices and GELU. The router is in FP32. PyTorch runs the
// activation operator by operator: GELU, the FP32 product with the probabilities, and the cast
// back.
std::vector<KernelCall> megatron_forward(const MoeLayer& layer);
std::vector<KernelCall> megatron_backward(const MoeLayer& layer);
// Tutel's layer of two matrices and ReLU on one GPU: forward, backward and an SGD step.
std::vector<KernelCall> tutel_step(const MoeLayer& layer);

}  // namespace orrery
