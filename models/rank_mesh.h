// SPDX-License-Identifier: Apache-2.0
// The mesh of a plan: axes "tp", "cp", "dp", "pp" in the plan's rank order, the first varying
// fastest. Megatron-LM's order tp-cp-dp-pp makes the ranks of a pipeline stage contiguous; with
// tp-cp-pp-dp the ranks of one model replica are. Hybrid sharding (plan.hsdp_shard_size > 0) splits
// the data-parallel ranks into "dp", the ranks that share one copy, and "dpr", the copies, right
// after it. Where a model has several key-value heads, but fewer than there are tensor-parallel
// ranks, these are split into "tpq", neighbours that share a head and have other queries, and "tp",
// one for each head.
#pragma once

#include "engine/mesh.h"
#include "models/plan.h"
#include "models/transformer.h"

namespace orrery {

// How many tensor-parallel ranks share a key-value head.
std::int64_t ranks_of_key_value_head(const Transformer& model, const ParallelPlan& plan);

// Uses plan.data_parallel_size. A plan that check() (models/validate_plan.h) rejects asserts.
Mesh rank_mesh(const ParallelPlan& plan, std::int64_t ranks_of_head = 1);

}  // namespace orrery
