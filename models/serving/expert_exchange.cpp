// SPDX-License-Identifier: Apache-2.0
#include "models/serving/expert_exchange.h"

#include <cmath>

#include "models/serving/serving_kernels.h"

namespace orrery {

namespace {

struct Way {
    std::string_view name;
    CollectiveKind gathering = CollectiveKind::all_gather;
    std::int64_t exchanged_bits = 16;  // of an element in an exchange
};

ServingOp moved(const Transformer& model,
                const ServingPlan& plan,
                std::int64_t tokens,
                std::int64_t layers,
                const Way& way) {
    const double elements = static_cast<double>(tokens * model.hidden_size);
    CollectiveCall call{.kind = way.gathering, .wire = kServedStream};
    double bytes = elements * static_cast<double>(plan.data_parallel_size * size_bytes(call.wire));
    if (exchanges_rows(model, plan)) {
        call.kind = CollectiveKind::all_to_all;
        bytes = elements * static_cast<double>(way.exchanged_bits) / 8 *
                ranks_reached(model, static_cast<double>(plan.ranks_of_stage()));
    }
    call.bytes = Bytes{static_cast<std::int64_t>(std::ceil(bytes))};
    return {.name = way.name, .work = call, .count = layers, .group = ServingGroup::stage};
}

}  // namespace

double ranks_reached(const Transformer& model, double ranks) {
    return ranks * (1 - std::pow(1 - 1 / ranks, static_cast<double>(model.moe_router_topk)));
}

bool exchanges_rows(const Transformer& model, const ServingPlan& plan) {
    return plan.multi_node_nvlink && plan.data_parallel_size > 1 &&
           plan.expert_model_parallel_size == plan.ranks_of_stage() &&
           plan.expert_model_parallel_size > model.moe_router_topk;
}

ServingOp expert_inputs(const Transformer& model,
                        const ServingPlan& plan,
                        std::int64_t tokens,
                        std::int64_t layers) {
    return moved(
        model, plan, tokens, layers, {.name = "tokens", .exchanged_bits = bits_of(plan.precision)});
}

ServingOp expert_sums(const Transformer& model,
                      const ServingPlan& plan,
                      std::int64_t tokens,
                      std::int64_t layers) {
    return moved(model,
                 plan,
                 tokens,
                 layers,
                 {.name = "expert sums", .gathering = CollectiveKind::reduce_scatter});
}

}  // namespace orrery
