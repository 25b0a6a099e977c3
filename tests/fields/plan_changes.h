// SPDX-License-Identifier: Apache-2.0
// What rows of fields of plans and models start from and change besides the field.
#pragma once

#include <fmt/format.h>

#include <string>

#include "models/lowering/lowering.h"
#include "tests/fields/field_rows.h"
#include "tests/fields/scenario_answer.h"

namespace orrery {
namespace plan_fields_test {

inline std::string program_text(const Scenario& scenario) {
    const Program program = lower(scenario.model, scenario.plan);
    std::string text;
    for (const KernelCall& call : program.kernels) {
        text += fmt::format("{} {} {} {} {} {}\n",
                            name(call.kind),
                            name(call.dtype),
                            call.variant,
                            call.dims[0],
                            call.flop,
                            call.bytes);
    }
    for (const CollectiveCall& call : program.collectives) {
        text += fmt::format("{} {} {} {}\n",
                            name(call.kind),
                            index(call.group),
                            name(call.wire),
                            call.bytes.count());
    }
    for (const Tensor& tensor : program.tensors) {
        text += fmt::format("{} {} {} {} {}\n",
                            tensor.name,
                            name(tensor.dtype),
                            tensor.bytes.count(),
                            tensor.random_purpose,
                            static_cast<int>(tensor.lifetime));
    }
    for (const Segment& segment : program.segments) {
        text += fmt::format("{} {}\n", segment.name, segment.ops.size());
    }
    return text;
}

inline const FieldAnswers<Scenario> kAnswers{program_text, answer_of};

using Row = FieldRow<Scenario>;

inline Scenario base() {
    return small_scenario("fields",
                          {"plan.tensor_model_parallel_size=2",
                           "plan.pipeline_model_parallel_size=2",
                           "plan.sequence_parallel=true",
                           "model.num_layers=4"});
}

inline void set_strategy(Scenario& s, ShardingStrategy strategy) {
    s.plan.data_parallel_sharding_strategy = strategy;
}

inline void make_eager(Scenario& s) {
    s.plan.eager_framework = true;
}

inline void replicate_activations(Scenario& s) {
    s.plan.sequence_parallel = false;
}

inline void give_experts(Scenario& s) {
    s.model.num_experts = 4;
    s.model.moe_ffn_hidden_size = 256;
    s.model.moe_shared_expert_intermediate_size = 128;
    s.model.qk_layernorm = true;
}

inline void spread_experts(Scenario& s) {
    give_experts(s);
    s.plan.expert_model_parallel_size = 2;
}

inline void fuse_experts(Scenario& s) {
    spread_experts(s);
    s.plan.moe_fused_kernels = true;
}

inline void score_by_sigmoid(Scenario& s) {
    s.model.moe_router_score_function = RouterScoreFunction::sigmoid;
}

inline void balance_by_loss(Scenario& s) {
    s.model.moe_aux_loss_coeff = 0.01;
}

inline void balance_by_bias(Scenario& s) {
    s.model.moe_router_bias_update_rate = 0.001;
}

inline void overlappable_experts(Scenario& s) {
    spread_experts(s);
    s.plan.pipeline_model_parallel_size = 1;
    s.plan.pipeline_layout.clear();
}

inline void group_experts(Scenario& s) {
    spread_experts(s);
    s.model.moe_router_num_groups = 2;
    s.model.moe_router_group_topk = 2;
    s.plan.moe_router_load = RouterLoad::uniform;
}

inline void give_latent_attention(Scenario& s) {
    s.model.multi_latent_attention = true;
    s.model.q_lora_rank = 64;
    s.model.kv_lora_rank = 64;
    s.model.qk_head_dim = 32;
    s.model.qk_pos_emb_head_dim = 32;
    s.model.v_head_dim = 32;
}

inline void give_host_memory(Scenario& s) {
    s.cluster.node.host_memory = Bytes{1'000'000'000'000};
    s.cluster.node.host_memory_bandwidth = Bandwidth::bits_per_second(800'000'000'000);
    s.device.host_memory_bandwidth = Bandwidth::bits_per_second(200'000'000'000);
}

inline void offload_optimizer(Scenario& s) {
    give_host_memory(s);
    s.plan.tensor_model_parallel_size = 1;
    s.plan.pipeline_model_parallel_size = 1;
    s.plan.sequence_parallel = false;
    s.plan.data_parallel_size = 4 * s.plan.data_parallel_size;
    set_strategy(s, ShardingStrategy::optim_grads_params);
    s.plan.optimizer_cpu_offload = true;
}

inline void whole_gated_layers(Scenario& s) {
    s.plan.tensor_model_parallel_size = 1;
    s.plan.sequence_parallel = false;
    s.model.activation = Activation::swiglu;
    s.model.add_bias_linear = false;
}

}  // namespace plan_fields_test
}  // namespace orrery
