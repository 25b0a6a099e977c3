// SPDX-License-Identifier: Apache-2.0
// Layouts of weights, gradients and optimizer state on the data-parallel and context-parallel
// digits of the mesh, phase by phase. Every data-parallel strategy is a row of one table
// (models/plan/sharding_strategy.h). Its collectives are the transitions between the layouts of
// that row:
//
//   ZeRO 0 to 3      Rajbhandari et al., SC 2020
//   hybrid sharding  Zhao et al., PyTorch FSDP, VLDB 2023, section 3.2.2: shards inside groups of
//                    ranks, copies of the groups
//   hpZ              Wang et al., ZeRO++, 2023, section 3.2: a secondary copy of the weights,
//                    sharded over few ranks, from which backward passes gather
//   qwZ              the same, section 3.1: weights are gathered as int8, in blocks
//   qgZ              the same, section 3.3: gradients are exchanged as int4, in two hops
//   SHARD_GRAD_OP    PyTorch's fully_shard with reshard_after_forward=False: backward passes use
//                    the weights that forward passes have gathered
//   offload          Rajbhandari et al., ZeRO-Infinity, SC 2021, section 5: state that no pass is
//                    using lies in the host's memory or on its drives
#pragma once

#include <cstdint>

#include "models/plan/codec.h"
#include "models/plan/layout.h"
#include "models/plan/plan.h"
#include "models/plan/rank_mesh.h"

namespace orrery {

// The largest number of elements that share a scale when weights are gathered as int8.
inline constexpr std::int64_t kGatheredBlock = 8000;

struct StateLayouts {
    std::uint32_t data_digits = 0;       // digits along which gradients are partial sums
    std::uint32_t secondary_digits = 0;  // digits of the ranks that together hold a secondary copy
    Layout whole;                        // all data of a rank: these digits shard nothing

    Layout weights;            // persistent weights, from which forward passes gather
    Layout secondary_weights;  // weights that forward passes leave for backward passes
    Layout made_gradients;     // gradients from the backward pass
    Layout gradients;          // gradients after the reduction
    Layout optimizer;          // optimizer state, and the part of the weights that a rank steps
    Lifetime gradient_buffer = Lifetime::persistent;  // of the buffer that backward passes add to
    MemoryTier optimizer_tier = MemoryTier::hbm;      // of the optimizer's state
    // The tier of persistent weights, for this share of the layers.
    MemoryTier weights_tier = MemoryTier::hbm;
    double offloaded_layers = 1;                  // share of all layers
    MemoryTier gradients_tier = MemoryTier::hbm;  // after the reduction
    // The gradient that a product makes is the one that is copied for the reduction, in the type of
    // the weights: autograd's first gradient of a parameter is handed over, not added
    // (torch/csrc/autograd/functions/accumulate_grad.h), and the reduction takes it away.
    bool hands_over_gradients = false;
    bool reduced_in_passes = false;  // gradients of whole weights (reduce_every_micro_batch)

    Dtype weight_dtype = Dtype::bf16;    // of persistent weights
    Codec gathered_weights;              // of weights on their way to the pass
    Dtype gradient_dtype = Dtype::fp32;  // of gradients while they accumulate
    Dtype gradient_wire = Dtype::fp32;   // of buckets of gradients while they travel

    // Whether weights are gathered for each use and gradients reduced unit by unit
    // (models/blocks/unit_weights.h). Otherwise both happen once a step, bucket by bucket
    // (models/lowering/gradient_sync.h).
    bool by_unit() const { return weights != whole; }
    // Whether gradients are reduced unit by unit. They then also leave the device if another tier
    // is for them.
    bool gradients_by_unit() const {
        return by_unit() || reduced_in_passes || gradients_tier != MemoryTier::hbm;
    }
    // Whether this layer's weights (-1: the embedding; num_layers: the head) leave the device.
    bool offloads(std::int64_t layer) const;
    // Whether a forward pass leaves a secondary shard for the backward pass (keeps_secondary) or
    // all gathered weights (keeps_gathered).
    bool keeps_secondary() const {
        return secondary_weights != weights && secondary_weights != whole;
    }
    bool quantises_weights() const { return gathered_weights.dtype != weight_dtype; }
    bool keeps_gathered() const { return by_unit() && secondary_weights == whole; }
    // The number of ranks that each hold a part of this state; 1 if every rank holds all of it.
    static std::int64_t parts(const Layout& state, const Mesh& mesh) {
        return mesh.combined_size(digits_with(state, Placement::flat));
    }
};

// Whether weights or gradients lie in another tier than the device's, or the host computes beside
// the device.
inline bool uses_tiers(const ParallelPlan& plan) {
    return plan.param_offload_tier != StateTier::device ||
           plan.grad_offload_tier != StateTier::device || plan.delayed_param_update ||
           (plan.optimizer_cpu_offload && plan.optimizer_offload_fraction < 1);
}

// `experts`: the parameters of experts, which fewer ranks share. They are sharded along the expert
// data-parallel digits.
enum class StateOf : std::uint8_t { dense, experts };

StateLayouts state_layouts(const ParallelPlan& plan,
                           const RankMesh& ranks,
                           StateOf of = StateOf::dense);

}  // namespace orrery
