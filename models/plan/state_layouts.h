// SPDX-License-Identifier: Apache-2.0
// How weights, gradients and optimizer state lie on the data-parallel and context-parallel digits
// of the mesh, phase by phase. Every data-parallel strategy is a row of one table
// (models/plan/sharding_strategy.h), and its collectives are the transitions between the layouts of
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
//   offload          Rajbhandari et al., ZeRO-Infinity, SC 2021, section 5: what no pass works with
//                    lies in the host's memory or on its drives
#pragma once

#include <cstdint>

#include "models/plan/codec.h"
#include "models/plan/layout.h"
#include "models/plan/plan.h"
#include "models/plan/rank_mesh.h"

namespace orrery {

// Most elements that share a scale where weights are gathered as int8.
inline constexpr std::int64_t kGatheredBlock = 8000;

struct StateLayouts {
    std::uint32_t data_digits = 0;       // gradients are terms of a sum along these
    std::uint32_t secondary_digits = 0;  // ranks that hold a secondary copy together
    Layout whole;                        // all that the other digits leave a rank

    Layout weights;            // as they persist, and as forward passes gather from them
    Layout secondary_weights;  // as forward passes leave them for backward passes
    Layout made_gradients;     // as backward passes make them
    Layout gradients;          // as they are once reduced
    Layout optimizer;          // its state, and the part of the weights that a rank steps
    Lifetime gradient_buffer = Lifetime::persistent;  // of what backward passes add to
    MemoryTier optimizer_tier = MemoryTier::hbm;      // of its state
    MemoryTier weights_tier = MemoryTier::hbm;    // as they persist, of `offloaded_layers` of all
    double offloaded_layers = 1;                  // layers
    MemoryTier gradients_tier = MemoryTier::hbm;  // once reduced

    Dtype weight_dtype = Dtype::bf16;    // as weights persist
    Codec gathered_weights;              // as they travel to where a pass uses them
    Dtype gradient_dtype = Dtype::fp32;  // as gradients accumulate and travel

    // Weights are gathered for each use, unit by unit (models/blocks/unit_weights.h), and gradients
    // reduced unit by unit; otherwise once a step, bucket by bucket
    // (models/lowering/gradient_sync.h).
    bool by_unit() const { return weights != whole; }
    // Gradients are, and leave the device then if another tier is for them.
    bool gradients_by_unit() const { return by_unit() || gradients_tier != MemoryTier::hbm; }
    // The layer's weights (-1: the embedding; num_layers: the head) leave the device.
    bool offloads(std::int64_t layer) const;
    // A forward pass leaves the backward pass a shard of its own, or all that it has gathered.
    bool keeps_secondary() const {
        return secondary_weights != weights && secondary_weights != whole;
    }
    bool quantises_weights() const { return gathered_weights.dtype != weight_dtype; }
    bool keeps_gathered() const { return by_unit() && secondary_weights == whole; }
    // The ranks that share this state, each holding a part: 1 if each has all.
    static std::int64_t parts(const Layout& state, const Mesh& mesh) {
        return mesh.combined_size(digits_with(state, Placement::flat));
    }
};

// Whether weights or gradients lie in another tier than the device's, or the host works beside it.
inline bool uses_tiers(const ParallelPlan& plan) {
    return plan.param_offload_tier != StateTier::device ||
           plan.grad_offload_tier != StateTier::device || plan.delayed_param_update ||
           (plan.optimizer_cpu_offload && plan.optimizer_offload_fraction < 1);
}

// Experts: their parameters, which fewer ranks have than the others. They are sharded along the
// expert data-parallel digits.
enum class StateOf : std::uint8_t { dense, experts };

StateLayouts state_layouts(const ParallelPlan& plan,
                           const RankMesh& ranks,
                           StateOf of = StateOf::dense);

}  // namespace orrery
