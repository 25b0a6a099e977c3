// SPDX-License-Identifier: Apache-2.0
// Floating-point operations of one training step, in the four ways of counting that published
// figures use. Only matrix products count (2 FLOP a multiply-add): the linear layers, the attention
// core and the logits. A backward pass counts as two forward passes. With B sequences of s tokens,
// L layers of hidden size h, ffn 4h, a vocabulary V and full attention this is
//     model:                      72 B L s h^2 (1 + s/6h + V/12Lh)
//     hardware, full recompute:   96 B L s h^2 (1 + s/6h + V/16Lh)     (Narayanan et al., SC 2021)
// *Model* FLOPs (MFU; Chowdhery et al., PaLM, 2022, appendix B) exclude recomputation. *Hardware*
// FLOPs (HFU) include it: the attention core or other modules with selective recomputation
// (Korthikanti et al., 2022), whole layers with full recomputation. The recomputation inside a
// fused attention kernel is not counted. A layer with experts counts the shared expert and the
// moe_router_topk experts of each token, but not the router's product (Megatron-LM, training.py,
// num_floating_point_operations).
#pragma once

#include <cstdint>

#include "engine/base/units.h"
#include "models/plan/plan.h"
#include "models/transformer/transformer.h"

namespace orrery {

// *Full* attention counts all s^2 query-key pairs of a head. *Causal* attention counts only the
// pairs that the causal mask and a sliding window leave visible.
struct ModelFlops {
    Flop full_attention;             // MFU as most papers, NeMo and Megatron-LM print it
    Flop causal_attention;           // MFU as Megatron-Bridge 25.09 and later print it
    Flop hardware_full_attention;    // HFU
    Flop hardware_causal_attention;  // HFU
    bool operator==(const ModelFlops&) const = default;
};

// The FLOP of a step over plan.global_batch_size sequences. The hardware's count includes the
// recomputation of `plan` (models/plan/recomputation.h).
ModelFlops model_flops(const Transformer& model, const ParallelPlan& plan);
// The FLOP of `sequences` sequences, without recomputation.
ModelFlops model_flops(const Transformer& model, std::int64_t sequences);

// The number of visible query-key pairs of one head of this layer for one sequence.
std::int64_t visible_attention_pairs(const Transformer& model, std::int64_t layer);

// `work` per `step` as a share of the peak of all GPUs: MFU or HFU, according to `work`.
double flops_utilization(Flop work, Time step, FlopRate peak_of_one_gpu, std::int64_t num_gpus);

}  // namespace orrery
