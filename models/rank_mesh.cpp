// SPDX-License-Identifier: Apache-2.0
#include "models/rank_mesh.h"

#include <algorithm>
#include <limits>

#include "engine/check.h"

namespace orrery {
namespace {

MeshAxis axis(const char* name, std::int64_t size) {
    ORRERY_CHECK(size > 0 && size <= std::numeric_limits<std::uint32_t>::max());
    return {.name = name, .size = static_cast<std::uint32_t>(size)};
}

}  // namespace

std::int64_t ranks_of_key_value_head(const Transformer& model, const ParallelPlan& plan) {
    return std::max<std::int64_t>(plan.tensor_model_parallel_size / model.num_query_groups, 1);
}

Mesh rank_mesh(const ParallelPlan& plan, std::int64_t ranks_of_head) {
    ORRERY_CHECK(plan.tensor_model_parallel_size % ranks_of_head == 0);
    const bool stages_outside = plan.rank_order == RankOrder::tp_cp_dp_pp;
    const MeshAxis stages = axis("pp", plan.pipeline_model_parallel_size);
    std::vector<MeshAxis> axes;
    const std::int64_t tensor = plan.tensor_model_parallel_size;
    const bool has_digits = ranks_of_head > 1 && ranks_of_head < tensor;
    if (has_digits) {
        axes.push_back(axis("tpq", ranks_of_head));
        axes.back().low_digit = true;
    }
    axes.push_back(axis("tp", has_digits ? tensor / ranks_of_head : tensor));
    axes.push_back(axis("cp", plan.context_parallel_size));
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
