// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/serving_prices.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/rate_alone.h"
#include "kernels/efficiency_table.h"
#include "network/fabric.h"
#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/format/specs/node_devices.h"

namespace orrery {

Result<std::unique_ptr<ServingPrices>> ServingPrices::make(const Scenario& cluster,
                                                           const Transformer& model,
                                                           const ServingPlan& plan,
                                                           const ServingEngine& engine,
                                                           std::int64_t first_rank) {
    const std::int64_t ranks =
        first_rank + plan.tensor_model_parallel_size * plan.pipeline_model_parallel_size;
    if (ranks > static_cast<std::int64_t>(cluster.cluster.num_ranks())) {
        return fail(cluster.cluster_where,
                    fmt::format("the instances take {} GPUs, and the cluster has {}",
                                ranks,
                                cluster.cluster.num_ranks()),
                    "more nodes, or a smaller tensor or pipeline size");
    }
    Result<Fabric> fabric = build_fabric(cluster.cluster);
    if (!fabric) {
        return tl::unexpected(fabric.error());
    }
    auto curves = read_efficiency_table((default_catalogue() / "kernel_efficiency.csv").string());
    if (!curves) {
        return tl::unexpected(curves.error().front());
    }
    return std::unique_ptr<ServingPrices>(
        new ServingPrices(cluster, std::move(*fabric), *curves, model, plan, engine, first_rank));
}

ServingPrices::ServingPrices(const Scenario& cluster,
                             Fabric fabric,
                             const EfficiencyTable& curves,
                             const Transformer& model,
                             const ServingPlan& plan,
                             const ServingEngine& engine,
                             std::int64_t first_rank)
    : model_(model),
      plan_(plan),
      engine_(engine),
      first_rank_(first_rank),
      cost_(cluster.device, curves),
      network_(std::move(fabric), [&] {
          NcclNetworkOptions options = nccl_options(cluster.device, cluster.devices);
          options.contention = false;
          return options;
      }()) {}

Time ServingPrices::time_of(const ServingOp& op, std::int64_t stage) const {
    if (const auto* kernel = std::get_if<KernelCall>(&op.work)) {
        return cost_.time(*kernel).duration * op.count;
    }
    std::vector<RankId> members;
    const std::int64_t tp = plan_.tensor_model_parallel_size;
    const auto rank = [&](std::int64_t i) {
        return to_id<RankId>(static_cast<std::size_t>(first_rank_ + stage * tp + i));
    };
    TransferPlan plan;
    if (const auto* send = std::get_if<SendCall>(&op.work)) {
        members = {rank(0), rank(tp)};
        plan = network_.plan(*send, members);
    } else {
        for (std::int64_t i = 0; i < tp; ++i) {
            members.push_back(rank(i));
        }
        plan = network_.plan(std::get<CollectiveCall>(op.work), members);
    }
    return time_without_contention(plan, network_.links()) * op.count;
}

Time ServingPrices::stage_time(const BatchShape& shape, std::int64_t stage) {
    // 2^28 tokens and samples, and 2^8 stages.
    const std::uint64_t key = static_cast<std::uint64_t>(shape.tokens) << 36 |
                              static_cast<std::uint64_t>(shape.sampled) << 8 |
                              static_cast<std::uint64_t>(stage);
    const auto [found, fresh] = fixed_.try_emplace(key);
    if (fresh) {
        for (const ServingOp& op : serving_ops(model_, plan_, shape, stage)) {
            if (!op.of_context) {
                found->second += time_of(op, stage);
            }
        }
    }
    Time sum = found->second;
    for (const ServingOp& op : attention_ops(model_, plan_, shape, stage)) {
        sum += time_of(op, stage);
    }
    return sum;
}

void ServingPrices::times(const Batch& batch, std::vector<Time>& stages) {
    const BatchShape shape = shape_of(batch);
    const Time host = engine_.host_per_step +
                      engine_.host_per_sequence * static_cast<std::int64_t>(batch.steps.size());
    for (std::size_t stage = 0; stage < stages.size(); ++stage) {
        const Time device = stage_time(shape, static_cast<std::int64_t>(stage));
        stages[stage] = engine_.asynchronous ? std::max(host, device) : host + device;
    }
}

}  // namespace orrery
