// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/cache_blocks.h"

#include <fmt/format.h>

#include <algorithm>

namespace orrery {

ServingPlan draft_plan(ServingPlan plan) {
    plan.pipeline_model_parallel_size = 1;
    plan.expert_model_parallel_size = 1;
    plan.expert_skew = 0;
    return plan;
}

Result<std::int64_t> cache_blocks(const ServingSpec& spec,
                                  const ServingPoolSpec& pool,
                                  const Transformer& model,
                                  const DeviceSpec& device) {
    const Speculation& speculation = spec.speculation;
    const ServingPlan of_draft = draft_plan(pool.plan);
    std::int64_t least = -1;
    for (std::int64_t stage = 0; stage < pool.plan.pipeline_model_parallel_size; ++stage) {
        const Bytes weights = serving_weight_bytes(model, pool.plan, stage);
        const Bytes activations = serving_activation_bytes(
            model, pool.plan, pool.limits.max_num_batched_tokens, pool.limits.max_num_seqs);
        const bool drafts = stage == 0 && speculation.has_model();
        const std::int64_t draft_weights =
            drafts ? serving_weight_bytes(speculation.draft_model, of_draft, 0).count() : 0;
        const bool encodes = stage == 0 && pool.role != PoolRole::decode &&
                             spec.encoder.present() && spec.encoder.instances == 0;
        const std::int64_t encoder_weights =
            encodes ? serving_weight_bytes(spec.encoder.model, spec.encoder.plan(), 0).count() : 0;
        const std::int64_t used = weights.count() + draft_weights + encoder_weights +
                                  spec.engine.reserved_memory.count() + activations.count();
        const std::int64_t shared = device.memory.count() - (spec.engine.share_of_rest ? used : 0);
        const std::int64_t left =
            static_cast<std::int64_t>(spec.engine.memory_share * static_cast<double>(shared)) -
            (spec.engine.share_of_rest ? 0 : used);
        const std::int64_t draft_token =
            drafts ? key_value_bytes_of_rank(speculation.draft_model, of_draft, 0).count() : 0;
        const std::int64_t block =
            (key_value_bytes_of_rank(model, pool.plan, stage).count() + draft_token) *
            pool.limits.block_size;
        if (left < block) {
            return fail("",
                        fmt::format("{:.1f} GB of weights on a GPU of stage {} leave no room for a "
                                    "key-value cache in {:.1f} GB",
                                    static_cast<double>(weights.count()) * 1e-9,
                                    stage,
                                    static_cast<double>(device.memory.count()) * 1e-9),
                        activations > weights
                            ? "a smaller max_num_batched_tokens, whose activations take room"
                            : "a larger tensor or pipeline size, or weights of fewer bits");
        }
        least = least < 0 ? left / block : std::min(least, left / block);
    }
    // Each data-parallel rank caches other requests; each context-parallel rank caches a part of
    // every request.
    return least * pool.plan.data_parallel_size * pool.plan.context_parallel_size;
}

}  // namespace orrery
