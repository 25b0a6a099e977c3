// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/document/key_synonyms.h"

#include <algorithm>

#include "models/plan/plan_fields.h"
#include "scenarios/format/document/megatron_flags.h"

namespace orrery {
namespace {

struct Synonym {
    std::string_view word;
    std::string_view key;
};
constexpr std::string_view kTensor = "plan.tensor_model_parallel_size";
constexpr std::string_view kPipeline = "plan.pipeline_model_parallel_size";
constexpr std::string_view kVirtual = "plan.virtual_pipeline_model_parallel_size";
constexpr std::string_view kContext = "plan.context_parallel_size";
constexpr std::string_view kZero =
    "plan.data_parallel_sharding_strategy: optim (ZeRO 1), optim_grads (2) or optim_grads_params "
    "(3)";
constexpr std::string_view kZero1 = "plan.data_parallel_sharding_strategy: optim";
constexpr std::string_view kFsdp = "plan.data_parallel_sharding_strategy: optim_grads_params";
constexpr std::string_view kFlash = "plan.attention_kernel: flash_2";
constexpr std::string_view kRecomputeKey = "plan.recompute_granularity: full";
constexpr std::string_view kReplicas =
    "it follows: the number of GPUs / (tensor * pipeline * context)";
constexpr std::string_view kAccumulation =
    "it follows: plan.global_batch_size / (micro_batch_size * data-parallel size)";
constexpr std::string_view kProcess = "a key of fault processes: add process: exponential";

constexpr Synonym kSynonyms[] = {
    {"tp_size", kTensor},
    {"tensor_parallel", kTensor},
    {"tensor_parallel_size", kTensor},
    {"pp_size", kPipeline},
    {"pipeline_parallel", kPipeline},
    {"pipeline_parallel_size", kPipeline},
    {"interleave", kVirtual},
    {"virtual_pipeline", kVirtual},
    {"virtual_stages", kVirtual},
    {"num_layers_per_virtual_pipeline_stage", kVirtual},
    {"num_virtual_stages_per_pipeline_rank", kVirtual},
    {"cp_size", kContext},
    {"context_parallel", kContext},
    {"dp", kReplicas},
    {"dp_size", kReplicas},
    {"data_parallel", kReplicas},
    {"world_size", "cluster.nodes and cluster.node.gpus_per_node"},
    {"gpus", "cluster.nodes and cluster.node.gpus_per_node"},
    {"num_gpus", "cluster.nodes and cluster.node.gpus_per_node"},
    {"gpu", "cluster.node.device"},
    {"expert_parallel", "plan.expert_model_parallel_size"},
    {"expert_parallel_size", "plan.expert_model_parallel_size"},
    {"num_local_experts", "model.num_experts"},
    {"n_routed_experts", "model.num_experts"},
    {"num_moe_experts", "model.num_experts"},
    {"num_experts_per_tok", "model.moe_router_topk"},
    {"moe_intermediate_size", "model.moe_ffn_hidden_size"},
    {"moe", "model.num_experts"},
    {"zero", kZero},
    {"zero_stage", kZero},
    {"sharding", kZero},
    {"zero1", kZero1},
    {"distributed_optimizer", kZero1},
    {"use_distributed_optimizer", kZero1},
    {"zero3", kFsdp},
    {"fsdp", kFsdp},
    {"use_torch_fsdp2", kFsdp},
    {"use_megatron_fsdp", kFsdp},
    {"flash_attention", kFlash},
    {"flash_attn", kFlash},
    {"use_flash_attn", kFlash},
    {"attention_backend", kFlash},
    {"recompute", kRecomputeKey},
    {"recomputation", kRecomputeKey},
    {"recompute_activations", "plan.recompute_granularity: selective"},
    {"activation_checkpointing", kRecomputeKey},
    {"gradient_checkpointing", kRecomputeKey},
    {"batch_size", "plan.global_batch_size"},
    {"gradient_accumulation", kAccumulation},
    {"gradient_accumulation_steps", kAccumulation},
    {"num_micro_batches", kAccumulation},
    {"bf16", "plan.precision: bf16"},
    {"fp16", "plan.precision: fp16"},
    {"fp8", "plan.precision: fp8"},
    {"fp8_format", "plan.precision: fp8"},
    {"dtype", "plan.precision"},
    {"mixed_precision", "plan.precision"},
    {"grad_reduce_in_bf16", "plan.gradient_dtype: bf16"},
    {"communication_data_type", "plan.grad_reduce_dtype"},
    {"swiglu", "model.activation: swiglu"},
    {"squared_relu", "model.activation: squared_relu"},
    {"dropout", "model.dropout"},
    {"attention_dropout", "model.dropout"},
    {"layers", "model.num_layers"},
    {"n_layers", "model.num_layers"},
    {"n_layer", "model.num_layers"},
    {"num_hidden_layers", "model.num_layers"},
    {"n_embd", "model.hidden_size"},
    {"d_model", "model.hidden_size"},
    {"heads", "model.num_attention_heads"},
    {"n_head", "model.num_attention_heads"},
    {"num_key_value_heads", "model.num_query_groups"},
    {"head_dim", "model.kv_channels"},
    {"intermediate_size", "model.ffn_hidden_size"},
    {"sequence_length", "model.seq_length"},
    {"seq_len", "model.seq_length"},
    {"max_seq_len", "model.seq_length"},
    {"max_position_embeddings", "model.seq_length"},
    {"vocabulary", "model.vocab_size"},
    {"padded_vocab_size", "model.vocab_size"},
    {"train_iters", "job.steps"},
    {"max_steps", "job.steps"},
    {"save_interval", "job.checkpoint_interval"},
    {"data_path", "job.dataset"},
    {"mtbf", kProcess},
    {"shape", kProcess},
    {"window", kProcess},
    {"over", kProcess},
};

// The key of a plan with this short name.
std::string plan_key_called(std::string_view name) {
    std::string key;
    for_each_plan_field([&](const auto& field) {
        if (!field.short_name.empty() && field.short_name == name) {
            key = "plan." + std::string{field.name};
        }
    });
    return key;
}

}  // namespace

std::string key_called(std::string_view word) {
    std::string name{word.substr(0, 64)};
    std::ranges::replace(name, '-', '_');
    const auto* const found = std::ranges::find(kSynonyms, name, &Synonym::word);
    if (found != std::end(kSynonyms)) {
        return std::string{found->key};
    }
    if (std::string key = plan_key_called(name); !key.empty()) {
        return key;
    }
    std::ranges::replace(name, '_', '-');
    const MegatronFlag* flag = copied_flag("--" + name);
    return flag != nullptr ? std::string{flag->key} : "";
}

}  // namespace orrery
