// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/search/stage_kinds.h"

#include <algorithm>

#include "models/plan/rank_mesh.h"

namespace orrery {

const std::vector<KindsOfStage>& StageKinds::of(const ParallelPlan& plan) {
    const Key key{plan.tensor_model_parallel_size,
                  plan.stage_tensor_model_parallel_sizes,
                  plan.context_parallel_size,
                  plan.pipeline_model_parallel_size,
                  plan.data_parallel_size,
                  plan.rank_order};
    const auto [found, fresh] = known_.try_emplace(key);
    std::vector<KindsOfStage>& stages = found->second;
    if (!fresh) {
        return stages;
    }
    stages.resize(static_cast<std::size_t>(plan.pipeline_model_parallel_size));
    if (!several_) {
        std::ranges::fill(stages, KindsOfStage{0});
        return stages;
    }
    const auto add = [&](std::size_t stage, std::uint32_t rank) {
        KindsOfStage& kinds = stages[stage];
        const std::uint32_t kind = cluster_.kind_of_rank(rank);
        if (std::ranges::find(kinds, kind) == kinds.end()) {
            kinds.push_back(kind);
        }
    };
    const std::vector<std::int64_t>& sizes = plan.stage_tensor_model_parallel_sizes;
    std::uint32_t next = 0;
    for (std::size_t stage = 0; stage < sizes.size(); ++stage) {  // stages are consecutive
        const std::int64_t ranks =
            sizes[stage] * plan.context_parallel_size * plan.data_parallel_size;
        for (std::int64_t i = 0; i < ranks; ++i) {
            add(stage, next++);
        }
    }
    if (sizes.empty()) {
        const Mesh mesh = rank_mesh(plan);
        const std::uint32_t pipeline = mesh.digit("pp");
        for (std::uint32_t rank = 0; rank < mesh.num_ranks(); ++rank) {
            add(mesh.coordinate(RankId{rank}, pipeline), rank);
        }
    }
    for (KindsOfStage& kinds : stages) {
        std::ranges::sort(kinds);
    }
    return stages;
}

}  // namespace orrery
