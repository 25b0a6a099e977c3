// SPDX-License-Identifier: Apache-2.0
// The mesh of a plan: axes "tp", "cp", "dp", "pp" in the plan's rank order, the first varying
// fastest. Megatron-LM's order tp-cp-dp-pp makes the ranks of a pipeline stage contiguous;
// tp-cp-pp-dp makes the ranks of a model replica contiguous. Two axes may have several digits:
//
//   tp  "tpq", neighbours that share a key-value head and have different queries, and "tpk", one
//       coordinate for each head; if there are several key-value heads, but fewer than
//       tensor-parallel ranks
//   dp  "dpz", ranks that together hold a secondary copy of the weights
//       (plan.zero_hpz_partition_size), "dps", the other ranks that share one copy of the state
//       (plan.hsdp_shard_size), and "dpr", the copies
//
// Experts use the ranks of a pipeline stage by other axes, "etp", "ep" and "edp", again the first
// varying fastest (Megatron-Core's parallel_state.py, two RankGenerators over one world). A digit
// that contains the end of one of these axes is cut there: "dp0", "dp1", ….
//
// If an axis has only one digit, the digit has the name of the axis.
#pragma once

#include "engine/program/mesh.h"
#include "models/plan/plan.h"
#include "models/transformer/transformer.h"

namespace orrery {

// The number of tensor-parallel ranks that share a key-value head.
std::int64_t ranks_of_key_value_head(const Transformer& model, const ParallelPlan& plan);

// The mesh, and the uses of the digits of tp and dp as bits. A use by only one rank has no bits.
struct RankMesh {
    Mesh mesh;
    std::uint32_t head_digits = 0;       // ranks that share a key-value head
    std::uint32_t shard_digits = 0;      // data-parallel ranks that share one copy of the state
    std::uint32_t secondary_digits = 0;  // of these, ranks that share a secondary shard
    // The digits of a stage's ranks by the axes of experts.
    std::uint32_t expert_tensor_digits = 0;
    std::uint32_t expert_digits = 0;
    std::uint32_t expert_data_digits = 0;
};

// Two sizes that do not divide one another: the product of the first axes of the experts, and the
// product of the first axes of the rest of the model. One mesh cannot have both. An experts'
// product above the ranks of a stage is reported, too. Zeros if all fit.
struct RankMisfit {
    std::int64_t experts = 0;
    std::int64_t others = 0;
};
RankMisfit expert_misfit(const ParallelPlan& plan, std::int64_t ranks_of_head = 1);

// The digits of a plan whose stages have equal sizes (models/plan/stage_parties.h makes such
// plans). Uses plan.data_parallel_size. Asserts that check() (models/plan/validate_plan.h) accepts
// the plan.
RankMesh digits_of_plan(const ParallelPlan& plan,
                        std::int64_t ranks_of_head = 1,
                        RankId first_rank = RankId{});
inline Mesh rank_mesh(const ParallelPlan& plan, std::int64_t ranks_of_head = 1) {
    return digits_of_plan(plan, ranks_of_head).mesh;
}

}  // namespace orrery
