// SPDX-License-Identifier: Apache-2.0
// The mesh of a plan: axes "tp", "cp", "dp", "pp" in the plan's rank order, the first varying
// fastest. Megatron-LM's order tp-cp-dp-pp makes the ranks of a pipeline stage contiguous; with
// tp-cp-pp-dp the ranks of one model replica are. Two axes may have several digits:
//
//   tp  "tpq", neighbours that share a key-value head and have other queries, and "tpk", one for
//       each head: where a model has several key-value heads, but fewer than tensor-parallel ranks
//   dp  "dpz", ranks that hold a secondary shard of the weights together
//       (plan.zero_hpz_partition_size), "dps", the rest of the ranks that share one copy of the
//       state (plan.hsdp_shard_size), and "dpr", the copies
//
// Experts read the ranks of a pipeline stage another way, as axes "etp", "ep" and "edp", again the
// first varying fastest (Megatron-Core's parallel_state.py, two RankGenerators over one world). A
// digit that ends inside one of theirs is cut there: "dp0", "dp1", ….
//
// The only digit of an axis has the name of the axis.
#pragma once

#include "engine/program/mesh.h"
#include "models/plan/plan.h"
#include "models/transformer/transformer.h"

namespace orrery {

// How many tensor-parallel ranks share a key-value head.
std::int64_t ranks_of_key_value_head(const Transformer& model, const ParallelPlan& plan);

// With what the digits of tp and dp are for, as bits; none where there is only one rank.
struct RankMesh {
    Mesh mesh;
    std::uint32_t head_digits = 0;       // ranks that share a key-value head
    std::uint32_t shard_digits = 0;      // data-parallel ranks that share one copy of the state
    std::uint32_t secondary_digits = 0;  // of these, ranks that share a secondary shard
    // The digits of a stage's ranks as experts read them.
    std::uint32_t expert_tensor_digits = 0;
    std::uint32_t expert_digits = 0;
    std::uint32_t expert_data_digits = 0;
};

// Two sizes of which neither divides the other, though both count consecutive ranks: of the axes of
// the experts up to one, and of the other axes. Zeros if there are none.
struct RankMisfit {
    std::int64_t experts = 0;
    std::int64_t others = 0;
};
RankMisfit expert_misfit(const ParallelPlan& plan, std::int64_t ranks_of_head = 1);

// The digits of a plan whose stages are alike (models/plan/stage_parties.h makes such plans). Uses
// plan.data_parallel_size. A plan that check() (models/plan/validate_plan.h) rejects asserts.
RankMesh digits_of_plan(const ParallelPlan& plan,
                        std::int64_t ranks_of_head = 1,
                        RankId first_rank = RankId{});
inline Mesh rank_mesh(const ParallelPlan& plan, std::int64_t ranks_of_head = 1) {
    return digits_of_plan(plan, ranks_of_head).mesh;
}

}  // namespace orrery
