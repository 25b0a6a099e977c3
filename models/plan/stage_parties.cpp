// SPDX-License-Identifier: Apache-2.0
#include "models/plan/stage_parties.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/check.h"
#include "models/plan/rank_mesh.h"

namespace orrery {

ParallelPlan plan_of_stage(const ParallelPlan& plan, std::int64_t stage) {
    ParallelPlan own = plan;
    if (!plan.stage_tensor_model_parallel_sizes.empty()) {
        own.stage_tensor_model_parallel_sizes.clear();
        own.tensor_model_parallel_size =
            plan.stage_tensor_model_parallel_sizes[static_cast<std::size_t>(stage)];
        own.sequence_parallel = plan.sequence_parallel && own.tensor_model_parallel_size > 1;
        own.tp_comm_overlap = plan.tp_comm_overlap && own.sequence_parallel;
    }
    return own;
}

Errors check_stage_parties(const Transformer& model, const ParallelPlan& plan) {
    const std::vector<std::int64_t>& sizes = plan.stage_tensor_model_parallel_sizes;
    if (sizes.empty()) {
        return {};
    }
    const std::string where = "plan.stage_tensor_model_parallel_sizes";
    Errors errors;
    const auto reject = [&](std::string what, std::string hint) {
        errors.push_back({where, std::move(what), std::move(hint)});
    };
    if (std::ssize(sizes) != plan.pipeline_model_parallel_size) {
        reject(fmt::format("there are {} entries for {} pipeline stages",
                           sizes.size(),
                           plan.pipeline_model_parallel_size),
               "one entry a stage");
        return errors;
    }
    const std::int64_t largest = std::ranges::max(sizes);
    if (plan.tensor_model_parallel_size != largest) {
        reject(fmt::format("the largest entry is {}, tensor_model_parallel_size {}",
                           largest,
                           plan.tensor_model_parallel_size),
               fmt::format("leave plan.tensor_model_parallel_size out, or say {}", largest));
    }
    const bool alike =
        std::ranges::adjacent_find(sizes, std::ranges::not_equal_to{}) == sizes.end();
    if (alike) {
        return errors;
    }
    for (std::size_t s = 0; s < sizes.size(); ++s) {
        const std::int64_t next = sizes[(s + 1) % sizes.size()];
        if (std::max(sizes[s], next) % std::min(sizes[s], next) != 0) {
            reject(fmt::format("stages of {} and {} ranks exchange messages: neither size divides "
                               "the other",
                               sizes[s],
                               next),
                   "powers of two");
            break;
        }
    }
    if (model.tied_embeddings) {
        reject("the first and the last stage share the embedding, which they cut differently",
               "untie it (model.tied_embeddings: false), or one size for all stages");
    }
    if (plan.rank_order != RankOrder::tp_cp_dp_pp) {
        reject("ranks of a stage have to follow one another", "plan.rank_order: tp-cp-dp-pp");
    }
    if (!plan.sequence_parallel && !plan.scatter_gather_tensors_in_pipeline) {
        reject("the tensors between stages have to be cut along the sequence",
               "plan.sequence_parallel or plan.scatter_gather_tensors_in_pipeline: true");
    }
    if (model.seq_length % (largest * plan.context_parallel_size) != 0) {
        reject(fmt::format("seq_length {} is not divisible by {} x {} context-parallel ranks",
                           model.seq_length,
                           largest,
                           plan.context_parallel_size),
               "another seq_length, or smaller sizes");
    }
    return errors;
}

namespace {

// `first_rank`: of the stages' ranks.
LayoutAssignment layouts_of_stages(const Transformer& model,
                                   const ParallelPlan& plan,
                                   RankId first_rank) {
    LayoutAssignment layouts =
        assign_layouts(plan, ranks_of_key_value_head(model, plan), first_rank);
    if (model.mtp_num_layers > 0) {
        // Prediction modules use the embedding and the head again, so gradients must add up.
        layouts.state.hands_over_gradients = false;
        layouts.expert_state.hands_over_gradients = false;
    }
    return layouts;
}

}  // namespace

std::vector<StageParty> stage_parties(const Transformer& model, const ParallelPlan& plan) {
    const std::vector<std::int64_t>& sizes = plan.stage_tensor_model_parallel_sizes;
    const std::int64_t stages = plan.pipeline_model_parallel_size;
    std::vector<StageParty> parties;
    std::int64_t stage = 0;
    std::size_t rank = 0;
    while (stage < stages) {
        std::int64_t end = stage + 1;
        while (end < stages && (sizes.empty() || sizes[static_cast<std::size_t>(end)] ==
                                                     sizes[static_cast<std::size_t>(stage)])) {
            ++end;
        }
        ParallelPlan own = plan_of_stage(plan, stage);
        own.pipeline_model_parallel_size = end - stage;
        parties.push_back({.first_stage = static_cast<std::int32_t>(stage),
                           .num_stages = static_cast<std::int32_t>(end - stage),
                           .layouts = layouts_of_stages(model, own, to_id<RankId>(rank))});
        rank += parties.back().layouts.mesh.num_ranks();
        stage = end;
    }
    return parties;
}

std::int32_t num_stages(const std::vector<StageParty>& parties) {
    return parties.back().first_stage + parties.back().num_stages;
}

}  // namespace orrery
