// SPDX-License-Identifier: Apache-2.0
// Floating-point operations of one training step, in the four ways of counting that published
// figures use. Only matrix products count (2 a multiply-add): the linear layers, the attention core
// and the logits; a backward pass is two forward passes. With B sequences of s tokens, L layers of
// hidden size h, ffn 4h, a vocabulary V and full attention this is
//     model:                      72 B L s h^2 (1 + s/6h + V/12Lh)
//     hardware, full recompute:   96 B L s h^2 (1 + s/6h + V/16Lh)     (Narayanan et al., SC 2021)
// *Model* FLOPs (MFU; Chowdhery et al., PaLM, 2022, appendix B) leave recomputation out, *hardware*
// FLOPs (HFU) add what activation recomputation runs again: selective the attention core
// (Korthikanti et al., 2022) or other modules, full whole layers. What a fused attention kernel
// recomputes inside itself is not counted. A layer with experts counts the moe_router_topk experts
// of each token and the shared expert; its router's product does not count (Megatron-LM,
// training.py, num_floating_point_operations).
#pragma once

#include <cstdint>

#include "engine/base/units.h"
#include "models/plan/plan.h"
#include "models/transformer/transformer.h"

namespace orrery {

// *Full* attention counts all s^2 query-key pairs of a head, *causal* attention only the pairs that
// the causal mask and a sliding window leave visible.
struct ModelFlops {
    Flop full_attention;             // MFU as most papers, NeMo and Megatron-LM print it
    Flop causal_attention;           // MFU as Megatron-Bridge 25.09 and later print it
    Flop hardware_full_attention;    // HFU
    Flop hardware_causal_attention;  // HFU
    bool operator==(const ModelFlops&) const = default;
};

// The FLOP of a step over plan.global_batch_size sequences. The hardware's count is that of
// `plan`'s recomputation (models/plan/recomputation.h).
ModelFlops model_flops(const Transformer& model, const ParallelPlan& plan);
// The FLOP of this many sequences, without recomputation.
ModelFlops model_flops(const Transformer& model, std::int64_t sequences);

// Query-key pairs that one head of this layer computes for one sequence, only the visible ones.
std::int64_t visible_attention_pairs(const Transformer& model, std::int64_t layer);

// Share of the GPUs' peak that this work is, done in `step`: MFU or HFU by which Flop is given.
double flops_utilization(Flop work, Time step, FlopRate peak_of_one_gpu, std::int64_t num_gpus);

}  // namespace orrery
