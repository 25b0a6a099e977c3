// SPDX-License-Identifier: Apache-2.0
#include "models/rank_mesh.h"

#include <limits>

#include "engine/check.h"

namespace orrery {
namespace {

MeshAxis axis(const char* name, std::int64_t size) {
    ORRERY_CHECK(size > 0 && size <= std::numeric_limits<std::uint32_t>::max());
    return {.name = name, .size = static_cast<std::uint32_t>(size)};
}

}  // namespace

Mesh rank_mesh(const ParallelPlan& plan) {
    const bool stages_outside = plan.rank_order == RankOrder::tp_cp_dp_pp;
    const MeshAxis stages = axis("pp", plan.pipeline_model_parallel_size);
    std::vector<MeshAxis> axes{axis("tp", plan.tensor_model_parallel_size),
                               axis("cp", plan.context_parallel_size)};
    if (!stages_outside) {
        axes.push_back(stages);
    }
    if (plan.hsdp_shard_size > 0) {
        ORRERY_CHECK(plan.data_parallel_size % plan.hsdp_shard_size == 0);
        axes.push_back(axis("dp", plan.hsdp_shard_size));
        axes.push_back(axis("dpr", plan.data_parallel_size / plan.hsdp_shard_size));
    } else {
        axes.push_back(axis("dp", plan.data_parallel_size));
    }
    if (stages_outside) {
        axes.push_back(stages);
    }
    return Mesh(std::move(axes));
}

}  // namespace orrery
