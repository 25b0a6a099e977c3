// SPDX-License-Identifier: Apache-2.0
// The mesh of a plan: axes "tp", "cp", "dp", "pp" in the plan's rank order, the first varying
// fastest. Megatron-LM's order tp-cp-dp-pp makes the ranks of a pipeline stage contiguous; with
// tp-cp-pp-dp the ranks of one model replica are. Hybrid sharding (plan.hsdp_shard_size > 0) splits
// the data-parallel ranks into "dp", the ranks that share one copy, and "dpr", the copies, right
// after it.
#pragma once

#include "engine/mesh.h"
#include "models/plan.h"

namespace orrery {

// Uses plan.data_parallel_size. A plan that check() (models/validate_plan.h) rejects asserts.
Mesh rank_mesh(const ParallelPlan& plan);

}  // namespace orrery
