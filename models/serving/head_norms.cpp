// SPDX-License-Identifier: Apache-2.0
#include "models/serving/head_norms.h"

#include "kernels/rmsnorm/rmsnorm.h"
#include "models/serving/serving_kernels.h"

namespace orrery {

namespace {

// Heads of a rank.
std::int64_t share(std::int64_t heads, const ServingPlan& plan) {
    const std::int64_t ranks = plan.tensor_model_parallel_size;
    return (heads + ranks - 1) / ranks;
}

}  // namespace

void add_head_norms(const Transformer& model,
                    const ServingPlan& plan,
                    std::int64_t tokens,
                    std::int64_t layers,
                    std::vector<ServingOp>& ops) {
    if (!model.qk_layernorm || (plan.fused_cache_write && !plan.norms_all_heads)) {
        return;
    }
    const std::int64_t width = model.kv_channels;
    const std::int64_t queries = share(model.num_attention_heads, plan);
    const std::int64_t keys = share(model.num_query_groups, plan);
    const auto add = [&](std::string_view name, const KernelCall& call) {
        ops.push_back({.name = name, .work = call, .count = layers});
    };
    if (!plan.norms_all_heads) {
        add("head norm", rmsnorm_forward(tokens * (queries + keys), width, kServedStream));
        return;
    }
    const KernelCall norm = rmsnorm_forward(tokens, (queries + keys) * width, kServedStream);
    KernelCall squares = norm;
    squares.bytes /= 2;  // it only reads
    add("head squares", squares);
    if (plan.tensor_model_parallel_size > 1) {
        const Dtype wire = Dtype::fp32;
        const CollectiveCall sums{.kind = CollectiveKind::all_reduce,
                                  .bytes = Bytes{2 * tokens * size_bytes(wire)},
                                  .wire = wire};
        ops.push_back({.name = "head sums", .work = sums, .count = layers});
    }
    add("head norm", norm);
}

}  // namespace orrery
