// SPDX-License-Identifier: Apache-2.0
#include "models/plan/state_layouts.h"

#include <cmath>

namespace orrery {
namespace {

MemoryTier tier_of(StateTier tier) {
    return tier == StateTier::device ? MemoryTier::hbm
           : tier == StateTier::host ? MemoryTier::dram
                                     : MemoryTier::nvme;
}

}  // namespace

// The offloaded layers are spread evenly. The embedding counts as the layer before the first.
bool StateLayouts::offloads(std::int64_t layer) const {
    const auto place = static_cast<double>(layer + 1);
    return weights_tier != MemoryTier::hbm &&
           std::floor((place + 1) * offloaded_layers) > std::floor(place * offloaded_layers);
}

StateLayouts state_layouts(const ParallelPlan& plan, const RankMesh& ranks, StateOf of) {
    const Mesh& mesh = ranks.mesh;
    const ShardingRow& row = row_of(plan.data_parallel_sharding_strategy);
    const bool experts = of == StateOf::experts;
    const std::uint32_t copies = mesh.axis("dp") & ~ranks.shard_digits;
    const std::uint32_t shard_digits =
        experts ? ranks.expert_data_digits & ~copies : mesh.axis("cp") | ranks.shard_digits;
    const auto held = [&](Held how) {
        return along(mesh, how == Held::shard ? shard_digits : 0, flat());
    };
    StateLayouts s;
    s.data_digits = experts ? ranks.expert_data_digits : mesh.axis("cp") | mesh.axis("dp");
    s.secondary_digits = experts ? 0 : ranks.secondary_digits;
    s.whole = held(Held::whole);
    s.weights = held(row.weights);
    s.secondary_weights = s.weights;
    if (!plan.reshard_after_forward) {
        s.secondary_weights = s.whole;
    } else if (s.by_unit() && ranks.secondary_digits != 0) {
        s.secondary_weights = along(mesh, ranks.secondary_digits, flat());
    }
    s.made_gradients = along(mesh, s.data_digits, partial());
    s.gradients = held(plan.reduce_scatter || row.frees_gradients ? row.gradients : Held::whole);
    s.optimizer = held(row.optimizer);
    s.weights_tier = tier_of(plan.param_offload_tier);
    s.offloaded_layers = plan.param_offload_fraction;
    s.gradients_tier = tier_of(plan.grad_offload_tier);
    s.reduced_in_passes =
        plan.reduce_every_micro_batch && row.frees_gradients && s.gradients != s.whole;
    // A rank that holds the whole state keeps it, even if the strategy shards.
    const bool freed = row.frees_gradients && row.weights == Held::whole;
    s.gradient_buffer = s.gradients_by_unit() ? Lifetime::slot
                        : freed               ? Lifetime::step
                                              : Lifetime::persistent;
    // Tiles of tokens and autocast add up by themselves. The older FSDP divides its gradients
    // before the reduction (_runtime_utils.py, _reduce_grad); there the sum stands for this pass.
    s.hands_over_gradients = s.by_unit() && plan.gradient_bucket_copies && plan.fsdp_copy_out &&
                             !plan.gradient_accumulation_fusion && !plan.autocast &&
                             plan.clear_lp_grads && plan.mlp_tile_tokens == 0 &&
                             plan.loss_tile_tokens == 0;
    s.optimizer_tier = !plan.optimizer_cpu_offload                        ? MemoryTier::hbm
                       : plan.optimizer_offload_tier == OffloadTier::file ? MemoryTier::nvme
                                                                          : MemoryTier::dram;
    s.weight_dtype = plan.precision == Dtype::fp8 ? Dtype::bf16 : plan.precision;
    s.gathered_weights =
        plan.zero_quantized_weights && s.by_unit()              ? Codec{Dtype::int8, kGatheredBlock}
        : plan.fp8_param_gather && plan.precision == Dtype::fp8 ? Codec{Dtype::fp8}
                                                                : Codec{s.weight_dtype};
    s.gradient_dtype = plan.gradient_dtype;
    s.gradient_wire = plan.wire_of_gradients();
    return s;
}

}  // namespace orrery
