// SPDX-License-Identifier: Apache-2.0
#include "models/serving/serving_context.h"

#include <algorithm>

#include "kernels/residual/residual.h"
#include "models/serving/serving_kernels.h"

namespace orrery {

namespace {

std::int64_t part_of(std::int64_t all, std::int64_t ranks) {
    return (all + ranks - 1) / ranks;
}

ServingOp sum_over_context(std::string_view name,
                           std::int64_t elements,
                           Reduction reduction,
                           std::int64_t layers) {
    return {.name = name,
            .work = CollectiveCall{.kind = CollectiveKind::all_reduce,
                                   .bytes = Bytes{elements * size_bytes(kServedStream)},
                                   .wire = kServedStream,
                                   .reduction = reduction},
            .count = layers,
            .of_context = true,
            .group = ServingGroup::context};
}

ServingOp ring_over_context(std::string_view name,
                            std::int64_t bytes,
                            std::int64_t ranks,
                            std::int64_t hops) {
    return {.name = name,
            .work = SendCall{.bytes = Bytes{bytes}, .ranks = static_cast<std::uint32_t>(ranks)},
            .count = hops,
            .of_context = true,
            .group = ServingGroup::context};
}

}  // namespace

BatchShape share_of_rank(const BatchShape& shape, const ServingPlan& plan) {
    BatchShape share = share_of(shape, plan.data_parallel_size);
    const std::int64_t ranks = plan.context_parallel_size;
    if (ranks == 1) {
        return share;
    }
    share.generating_context = std::max(part_of(share.generating_context, ranks), share.generating);
    share.tokens = share.generating + share.drafted;
    for (PromptChunk& chunk : share.chunks) {
        // The mean number of query-key pairs of a rank.
        const std::int64_t own = part_of(chunk.new_tokens, ranks);
        chunk.context += (chunk.new_tokens - own) / 2;
        chunk.new_tokens = own;
        share.tokens += own;
    }
    return share;
}

void add_context_exchange(const Transformer& model,
                          const ServingPlan& plan,
                          const BatchShape& shape,
                          std::int64_t layers,
                          std::vector<ServingOp>& ops) {
    const std::int64_t ranks = plan.context_parallel_size;
    if (ranks == 1) {
        return;
    }
    const std::int64_t tp = plan.tensor_model_parallel_size;
    const std::int64_t heads = part_of(model.num_attention_heads, tp);
    const std::int64_t rows = shape.generating + shape.drafted;
    const std::int64_t key_values = 2 * part_of(model.num_query_groups, tp) * model.kv_channels *
                                    size_bytes(plan.key_value_precision);
    if (rows > 0 && plan.context_parallel_comm == ContextExchange::tree) {
        ops.push_back(sum_over_context("context maximum", rows * heads, Reduction::max, layers));
        ops.push_back(sum_over_context(
            "context sum", rows * heads * (model.kv_channels + 1), Reduction::sum, layers));
        ops.push_back({.name = "context merge",
                       .work = residual_add(rows, heads * model.kv_channels, kServedStream),
                       .count = layers,
                       .of_context = true});
    } else if (rows > 0) {
        // Every block returns to its rank at the end, as in the source's count.
        ops.push_back(ring_over_context(
            "context ring", shape.generating_context * key_values, ranks, ranks * layers));
    }
    std::int64_t seen = 0;  // tokens of prompts that all ranks attend to
    for (const PromptChunk& chunk : shape.chunks) {
        seen += chunk.context + chunk.new_tokens + (ranks - 1) * chunk.new_tokens / 2;
    }
    if (seen > 0) {
        ops.push_back(ring_over_context(
            "prompt ring", part_of(seen, ranks) * key_values, ranks, (ranks - 1) * layers));
    }
}

}  // namespace orrery
