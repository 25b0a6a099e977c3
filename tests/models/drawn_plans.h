// SPDX-License-Identifier: Apache-2.0
// Random small (model, plan) pairs that pass validate_plan.h, over every feature. Sizes divide
// whatever the plan divides them by, so that sums over ranks are exact.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <sstream>
#include <string>

#include "engine/base/check.h"
#include "models/plan/plan.h"
#include "models/plan/validate_plan.h"
#include "models/transformer/transformer.h"

namespace orrery {

struct DrawnPlan {
    std::uint64_t seed = 0;
    Transformer model;
    ParallelPlan plan;

    std::string text() const {
        std::ostringstream out;
        out << "seed " << seed << ": tp " << plan.tensor_model_parallel_size
            << (plan.sequence_parallel ? " sp" : "") << " pp " << plan.pipeline_model_parallel_size
            << " x " << plan.virtual_pipeline_model_parallel_size << " schedule "
            << static_cast<int>(plan.schedule) << " cp " << plan.context_parallel_size << " comm "
            << static_cast<int>(plan.context_parallel_comm) << " dp " << plan.data_parallel_size
            << " zero " << static_cast<int>(plan.data_parallel_sharding_strategy) << " hsdp "
            << plan.hsdp_shard_size << " hpz " << plan.zero_hpz_partition_size << " unit "
            << plan.fsdp_unit_layers << " ahead " << plan.fsdp_prefetch_units << " reuse "
            << plan.stage3_max_reuse_distance
            << (plan.reshard_after_forward ? " mbs " : " kept mbs ") << plan.micro_batch_size
            << " gbs " << plan.global_batch_size << " recompute "
            << static_cast<int>(plan.recompute_granularity) << "."
            << static_cast<int>(plan.recompute_method) << "." << plan.recompute_num_layers << "."
            << plan.recompute_modules << " attention " << static_cast<int>(plan.attention_kernel)
            << " layers " << model.num_layers << " groups " << model.num_query_groups
            << (model.parallel_block ? " parallel block" : "")
            << (model.tied_embeddings ? " tied" : "") << (plan.overlap_p2p ? " overlap_p2p" : "")
            << (plan.tp_comm_overlap ? " tp_comm_overlap" : "")
            << (plan.overlap_grad_reduce ? " overlap_grad_reduce" : "")
            << (plan.overlap_param_gather ? " overlap_param_gather" : "")
            << (plan.overlap_param_gather_with_optimizer_step ? " with_optimizer_step" : "");
        return out.str();
    }
};

class PlanDrawer {
public:
    explicit PlanDrawer(std::uint64_t seed) : seed_(seed), random_(seed) {}

    DrawnPlan draw() {
        DrawnPlan d{.seed = seed_, .model = {}, .plan = {}};
        draw_parallelism(d.plan);
        draw_model(d.model, d.plan);
        draw_switches(d.model, d.plan);
        draw_units(d.model, d.plan);
        draw_recomputation(d.model, d.plan);
        // Other draws stay as they are.
        d.plan.overlap_param_gather_with_optimizer_step =
            seed_ % 2 == 0 && d.plan.overlap_param_gather &&
            d.plan.virtual_pipeline_model_parallel_size > 1 &&
            (d.plan.data_parallel_sharding_strategy == ShardingStrategy::optim ||
             d.plan.data_parallel_sharding_strategy == ShardingStrategy::optim_grads);
        // Nothing, attn, mlp or both.
        d.plan.cuda_graph_scope = seed_ % 3 == 0 ? static_cast<std::uint32_t>(seed_ / 3 % 4) : 0;
        const Errors errors =
            check(d.model, d.plan, d.plan.model_parallel_size() * d.plan.data_parallel_size);
        ORRERY_CHECK(errors.empty());
        return d;
    }

private:
    std::int64_t pick(std::initializer_list<std::int64_t> values) {
        return values.begin()[random_() % values.size()];
    }
    template <class T>
    T one_of(std::initializer_list<T> values) {
        return values.begin()[random_() % values.size()];
    }
    bool coin() { return random_() % 2 == 0; }

    void draw_recomputation(const Transformer& m, ParallelPlan& p) {
        p.recompute_method =
            one_of({RecomputeMethod::uniform, RecomputeMethod::block, RecomputeMethod::every});
        const bool by_unit =
            p.data_parallel_sharding_strategy == ShardingStrategy::optim_grads_params &&
            p.recompute_method == RecomputeMethod::uniform;
        p.recompute_num_layers = by_unit ? 1 : std::min(pick({1, 2, 3}), m.num_layers);
        p.recompute_modules = static_cast<std::uint32_t>(pick({1, 1, 2, 4, 8, 16, 3, 7, 10, 15}));
    }

    // How ZeRO 3 gathers.
    void draw_units(const Transformer& m, ParallelPlan& p) {
        if (p.data_parallel_sharding_strategy != ShardingStrategy::optim_grads_params) {
            return;
        }
        const std::int64_t shards =
            p.hsdp_shard_size > 0 ? p.hsdp_shard_size : p.data_parallel_size;
        if (shards % 2 == 0 && coin()) {
            p.zero_hpz_partition_size = 2;
        } else if (p.pipeline_model_parallel_size == 1) {
            p.reshard_after_forward = coin();
        }
        p.fsdp_unit_layers = std::min(pick({0, 1, 1, 2}), m.num_layers);
        p.fsdp_prefetch_units = pick({1, 1, 2});
        const bool frees = p.fsdp_unit_layers < 2 && p.fsdp_prefetch_units == 1;
        p.stage3_max_reuse_distance = frees ? 0 : kReuseDistanceMax;
        p.prefetch_behind_backward = random_() % 4 == 0;
    }

    void draw_parallelism(ParallelPlan& p) {
        p.tensor_model_parallel_size = pick({1, 2, 4});
        p.pipeline_model_parallel_size = pick({1, 2, 3, 4});
        p.context_parallel_size = pick({1, 1, 2});
        p.data_parallel_size = pick({1, 2, 4});
        p.sequence_parallel = p.tensor_model_parallel_size > 1 && coin();
        p.context_parallel_comm = static_cast<ContextParallelComm>(random_() % 3);
        p.data_parallel_sharding_strategy = static_cast<ShardingStrategy>(random_() % 4);
        if (p.data_parallel_sharding_strategy != ShardingStrategy::no_shard &&
            p.data_parallel_size == 4 && coin()) {
            p.hsdp_shard_size = pick({1, 2, 4});
        }
        p.schedule = static_cast<ScheduleKind>(random_() % 5);
        const bool loops = p.schedule == ScheduleKind::interleaved_1f1b ||
                           p.schedule == ScheduleKind::breadth_first;
        if (loops && p.pipeline_model_parallel_size > 1) {
            p.virtual_pipeline_model_parallel_size = pick({1, 2, 3});
        }
        p.micro_batch_size = pick({1, 2});
        p.global_batch_size =
            p.micro_batch_size * p.data_parallel_size * pick({1, 2, 3, 4, 5, 8, 12});
        p.rank_order = coin() ? RankOrder::tp_cp_dp_pp : RankOrder::tp_cp_pp_dp;
    }

    void draw_model(Transformer& m, ParallelPlan& p) {
        const std::int64_t places =
            p.pipeline_model_parallel_size * p.virtual_pipeline_model_parallel_size;
        m.num_layers = places * pick({1, 2});
        if (places > 1 && random_() % 4 == 0) {  // uneven
            p.pipeline_layout.assign(static_cast<std::size_t>(places), m.num_layers / places);
            p.pipeline_layout.front() += 2;
            m.num_layers += 2;
        } else if (m.num_layers > 2 && random_() % 4 == 0) {
            p.embedding_and_loss_as_layers = true;
            m.num_layers -= 2;
        }
        m.hidden_size = 128;
        m.ffn_hidden_size = 256;
        m.num_attention_heads = 8;
        const bool exchanges = p.context_parallel_size > 1 &&
                               p.context_parallel_comm == ContextParallelComm::all_to_all;
        m.num_query_groups = pick({1, 2, 4, 8});
        m.num_query_groups = exchanges ? 8 : m.num_query_groups;
        m.kv_channels = 16;
        m.seq_length = 128;
        m.vocab_size = 512;
        m.normalization = coin() ? Normalization::layernorm : Normalization::rmsnorm;
        m.position_embedding =
            one_of({PositionEmbedding::learned, PositionEmbedding::rope, PositionEmbedding::none});
        m.activation = static_cast<Activation>(random_() % 4);
        m.add_bias_linear = coin();
        m.tied_embeddings = coin();
        m.parallel_block = coin();
        m.dropout = coin() ? 0.1 : 0.0;
    }

    void draw_switches(Transformer& m, ParallelPlan& p) {
        const bool whole_scores = p.context_parallel_size == 1 ||
                                  p.context_parallel_comm == ContextParallelComm::all_to_all;
        if (whole_scores) {
            m.sliding_window = pick({0, 0, 48});
            m.sliding_window_every = pick({1, 2});
        }
        p.attention_kernel =
            static_cast<AttentionKernel>(whole_scores ? random_() % 4 : 1 + random_() % 3);
        p.precision = one_of({Dtype::fp32, Dtype::bf16, Dtype::fp16, Dtype::fp8});
        p.recompute_granularity = static_cast<Recompute>(random_() % 3);
        p.optimizer = coin() ? Optimizer::adam : Optimizer::lamb;
        p.gradient_dtype = coin() ? Dtype::fp32 : Dtype::bf16;
        p.tp_comm_overlap = p.sequence_parallel && coin();
        for (bool* on : {&p.gradient_accumulation_fusion,
                         &p.overlap_grad_reduce,
                         &p.overlap_param_gather,
                         &p.overlap_p2p,
                         &p.async_tensor_model_parallel_allreduce,
                         &p.scatter_gather_tensors_in_pipeline,
                         &p.fused_norm,
                         &p.fused_activation,
                         &p.fused_cross_entropy,
                         &p.eager_framework,
                         &p.compiled}) {
            *on = coin();
        }
        p.ddp_bucket_size = pick({0, 50'000, 200'000});
    }

    std::uint64_t seed_;
    std::mt19937_64 random_;
};

inline DrawnPlan drawn_plan(std::uint64_t seed) {
    return PlanDrawer{seed}.draw();
}

// The same plan for a model that trains in milliseconds.
inline DrawnPlan tiny_drawn_plan(std::uint64_t seed) {
    DrawnPlan d = drawn_plan(seed);
    d.model.hidden_size = 32;
    d.model.ffn_hidden_size = 64;
    d.model.kv_channels = 4;
    d.model.seq_length = 32;
    d.model.vocab_size = 64;
    d.plan.tp_comm_overlap_chunks = 2;
    return d;
}

}  // namespace orrery
