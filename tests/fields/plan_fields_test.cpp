// SPDX-License-Identifier: Apache-2.0
// Every field of a plan changes the lowered Program or the answer of a simulation.
#include "tests/fields/plan_changes.h"

namespace orrery {
namespace plan_fields_test {

const Row kPlanRows[] = {
    {"tensor_model_parallel_size",
     [](Scenario& s) { s.plan.tensor_model_parallel_size = 1; },
     replicate_activations},
    {"pipeline_model_parallel_size", [](Scenario& s) { s.plan.pipeline_model_parallel_size = 1; }},
    {"stage_tensor_model_parallel_sizes",
     [](Scenario& s) {
         s.plan.stage_tensor_model_parallel_sizes = {2, 1};
     },
     [](Scenario& s) { s.model.tied_embeddings = false; }},
    {"virtual_pipeline_model_parallel_size",
     [](Scenario& s) { s.plan.virtual_pipeline_model_parallel_size = 2; },
     [](Scenario& s) { s.plan.schedule = ScheduleKind::interleaved_1f1b; }},
    {"context_parallel_size",
     [](Scenario& s) { s.plan.context_parallel_size = 2; },
     [](Scenario& s) { s.plan.data_parallel_size = 1; }},
    {"data_parallel_size", [](Scenario& s) { s.plan.data_parallel_size = 1; }},
    {"sequence_parallel", [](Scenario& s) { s.plan.sequence_parallel = false; }},
    {"context_parallel_comm",
     [](Scenario& s) { s.plan.context_parallel_comm = ContextParallelComm::all_to_all; },
     [](Scenario& s) {
         s.plan.context_parallel_size = 2;
         s.plan.data_parallel_size = 1;
     }},
    {"repeat_key_value_heads",
     [](Scenario& s) { s.plan.repeat_key_value_heads = true; },
     [](Scenario& s) { s.model.num_query_groups = s.model.num_attention_heads / 2; }},
    {"context_parallel_fp32_gradients",
     [](Scenario& s) { s.plan.context_parallel_fp32_gradients = true; },
     [](Scenario& s) {
         s.plan.context_parallel_size = 2;
         s.plan.data_parallel_size = 1;
     }},
    {"data_parallel_sharding_strategy",
     [](Scenario& s) { set_strategy(s, ShardingStrategy::optim); }},
    {"hsdp_shard_size",
     [](Scenario& s) { s.plan.hsdp_shard_size = 1; },
     [](Scenario& s) { set_strategy(s, ShardingStrategy::optim); }},
    {"zero_hpz_partition_size",
     [](Scenario& s) { s.plan.zero_hpz_partition_size = 2; },
     [](Scenario& s) {
         set_strategy(s, ShardingStrategy::optim_grads_params);
         s.plan.data_parallel_size *= 2;
     }},
    {"zero_quantized_gradients",
     [](Scenario& s) { s.plan.zero_quantized_gradients = true; },
     [](Scenario& s) { set_strategy(s, ShardingStrategy::optim_grads_params); }},
    {"zero_quantized_gradients_uneven",
     [](Scenario& s) { s.plan.zero_quantized_gradients_uneven = true; },
     [](Scenario& s) {
         set_strategy(s, ShardingStrategy::optim_grads_params);
         s.plan.zero_quantized_gradients = true;
         s.plan.data_parallel_size *= 3;
     }},
    {"reshard_after_forward",
     [](Scenario& s) { s.plan.reshard_after_forward = false; },
     [](Scenario& s) { set_strategy(s, ShardingStrategy::optim_grads_params); }},
    {"fsdp_unit_layers",
     [](Scenario& s) { s.plan.fsdp_unit_layers = 2; },
     [](Scenario& s) { set_strategy(s, ShardingStrategy::optim_grads_params); }},
    {"fsdp_prefetch_units",
     [](Scenario& s) { s.plan.fsdp_prefetch_units = 2; },
     [](Scenario& s) {
         set_strategy(s, ShardingStrategy::optim_grads_params);
         s.plan.overlap_param_gather = true;
     }},
    {"stage3_max_reuse_distance",
     [](Scenario& s) { s.plan.stage3_max_reuse_distance = 0; },
     [](Scenario& s) {
         set_strategy(s, ShardingStrategy::optim_grads_params);
         s.plan.recompute_granularity = Recompute::full;
     }},
    {"micro_batch_size", [](Scenario& s) { s.plan.micro_batch_size = 1; }},
    {"global_batch_size", [](Scenario& s) { s.plan.global_batch_size = 16; }},
    {"precision", [](Scenario& s) { s.plan.precision = Dtype::fp32; }},
    {"recompute_granularity", [](Scenario& s) { s.plan.recompute_granularity = Recompute::full; }},
    {"recompute_method",
     [](Scenario& s) { s.plan.recompute_method = RecomputeMethod::block; },
     [](Scenario& s) { s.plan.recompute_granularity = Recompute::full; }},
    {"recompute_num_layers",
     [](Scenario& s) { s.plan.recompute_num_layers = 2; },
     [](Scenario& s) { s.plan.recompute_granularity = Recompute::full; }},
    {"recompute_modules",
     [](Scenario& s) {
         s.plan.recompute_modules = static_cast<std::uint32_t>(RecomputeModule::mlp);
     },
     [](Scenario& s) { s.plan.recompute_granularity = Recompute::selective; }},
    {"pipeline_flushes", [](Scenario& s) { s.plan.pipeline_flushes = 2; }},
    {"schedule", [](Scenario& s) { s.plan.schedule = ScheduleKind::gpipe; }},
    {"rank_order", [](Scenario& s) { s.plan.rank_order = RankOrder::tp_cp_pp_dp; }},
    {"attention_kernel", [](Scenario& s) { s.plan.attention_kernel = AttentionKernel::unfused; }},
    {"optimizer", [](Scenario& s) { s.plan.optimizer = Optimizer::lamb; }},
    {"zero_quantized_weights",
     [](Scenario& s) { s.plan.zero_quantized_weights = true; },
     [](Scenario& s) { set_strategy(s, ShardingStrategy::optim_grads_params); }},
    {"optimizer_cpu_offload",
     [](Scenario& s) { s.plan.optimizer_cpu_offload = true; },
     give_host_memory},
    {"activation_offload_fraction",
     [](Scenario& s) { s.plan.activation_offload_fraction = 0.5; },
     [](Scenario& s) {
         give_host_memory(s);
         s.plan.recompute_granularity = Recompute::full;
     }},
    {"activation_offload_blocking",
     [](Scenario& s) { s.plan.activation_offload_blocking = true; },
     [](Scenario& s) {
         give_host_memory(s);
         s.plan.recompute_granularity = Recompute::full;
         s.plan.activation_offload_fraction = 1;
     }},
    {"cpu_offloading_num_layers",
     [](Scenario& s) { s.plan.cpu_offloading_num_layers = 1; },
     [](Scenario& s) {
         give_host_memory(s);
         s.plan.recompute_granularity = Recompute::none;
         s.plan.pipeline_model_parallel_size = 1;
     }},
    {"mlp_tile_tokens", [](Scenario& s) { s.plan.mlp_tile_tokens = 64; }, whole_gated_layers},
    {"loss_tile_tokens", [](Scenario& s) { s.plan.loss_tile_tokens = 64; }, whole_gated_layers},
    {"loss_in_place",
     [](Scenario& s) { s.plan.loss_in_place = false; },
     [](Scenario& s) { s.plan.fused_cross_entropy = false; }},
    {"loss_copies",
     [](Scenario& s) { s.plan.loss_copies = 1; },
     [](Scenario& s) { s.plan.fused_cross_entropy = false; }},
    {"kept_logits", [](Scenario& s) { s.plan.kept_logits = 2; }},
    {"eager_norm", [](Scenario& s) { s.plan.eager_norm = true; }},
    {"norm_32_bit_offsets",
     [](Scenario& s) { s.plan.norm_32_bit_offsets = true; },
     {},
     "it bounds plans and the longest sequence (LargestFit.EndsWhereOffsetsDo)"},
    {"attention_backward_buffers", [](Scenario& s) { s.plan.attention_backward_buffers = true; }},
    {"reentrant_checkpoint",
     [](Scenario& s) { s.plan.reentrant_checkpoint = true; },
     [](Scenario& s) { s.plan.recompute_granularity = Recompute::full; }},
    {"checkpoint_early_stop",
     [](Scenario& s) { s.plan.checkpoint_early_stop = true; },
     [](Scenario& s) { s.plan.recompute_granularity = Recompute::full; }},
    {"distribute_saved_activations",
     [](Scenario& s) { s.plan.distribute_saved_activations = true; },
     [](Scenario& s) {
         s.plan.sequence_parallel = false;
         s.plan.recompute_granularity = Recompute::full;
     }},
    {"eager_activation",
     [](Scenario& s) { s.plan.eager_activation = true; },
     [](Scenario& s) { s.plan.fused_activation = false; }},
    {"autocast", [](Scenario& s) { s.plan.autocast = true; }},
    {"fused_projections", [](Scenario& s) { s.plan.fused_projections = false; }},
    {"fused_optimizer", [](Scenario& s) { s.plan.fused_optimizer = false; }},
    {"eager_rope",
     [](Scenario& s) { s.plan.eager_rope = true; },
     [](Scenario& s) { s.model.position_embedding = PositionEmbedding::rope; }},
    {"eager_attention",
     [](Scenario& s) { s.plan.eager_attention = true; },
     [](Scenario& s) { s.plan.attention_kernel = AttentionKernel::unfused; }},
    {"vocabulary_parallel",
     [](Scenario& s) { s.plan.vocabulary_parallel = true; },
     [](Scenario& s) {
         s.model.tied_embeddings = false;
         s.plan.pipeline_model_parallel_size = 2;
         s.plan.overlap_p2p = true;
     }},
    {"reduce_scatter",
     [](Scenario& s) { s.plan.reduce_scatter = false; },
     [](Scenario& s) { set_strategy(s, ShardingStrategy::optim); }},
    {"optimizer_offload_tier",
     [](Scenario& s) { s.plan.optimizer_offload_tier = OffloadTier::file; },
     [](Scenario& s) {
         s.plan.optimizer_cpu_offload = true;
         s.cluster.node.host_memory = Bytes{1'000'000'000'000};
         s.cluster.node.host_memory_bandwidth = Bandwidth::bits_per_second(800'000'000'000);
         s.cluster.node.nvme_drives = 4;
         s.cluster.node.nvme_read_bandwidth = Bandwidth::bits_per_second(56'000'000'000);
         s.cluster.node.nvme_write_bandwidth = Bandwidth::bits_per_second(30'000'000'000);
         s.device.host_memory_bandwidth = Bandwidth::bits_per_second(200'000'000'000);
     }},
    {"optimizer_offload_fraction",
     [](Scenario& s) { s.plan.optimizer_offload_fraction = 0.5; },
     offload_optimizer},
    {"delayed_param_update",
     [](Scenario& s) { s.plan.delayed_param_update = true; },
     offload_optimizer},
    {"param_offload_tier",
     [](Scenario& s) { s.plan.param_offload_tier = StateTier::host; },
     offload_optimizer},
    {"param_offload_fraction",
     [](Scenario& s) { s.plan.param_offload_fraction = 0.5; },
     [](Scenario& s) {
         offload_optimizer(s);
         s.plan.param_offload_tier = StateTier::host;
     }},
    {"grad_offload_tier",
     [](Scenario& s) { s.plan.grad_offload_tier = StateTier::host; },
     offload_optimizer},
    {"offload_fp32_weights",
     [](Scenario& s) { s.plan.offload_fp32_weights = true; },
     offload_optimizer},
    {"gradient_accumulation_fusion",
     [](Scenario& s) { s.plan.gradient_accumulation_fusion = false; }},
    {"clear_lp_grads",
     [](Scenario& s) { s.plan.clear_lp_grads = false; },
     [](Scenario& s) { s.plan.gradient_accumulation_fusion = false; }},
    {"zero_lp_grads",
     [](Scenario& s) { s.plan.zero_lp_grads = true; },
     [](Scenario& s) {
         s.plan.gradient_accumulation_fusion = false;
         s.plan.clear_lp_grads = false;
     }},
    {"dense_embedding_gradient", [](Scenario& s) { s.plan.dense_embedding_gradient = true; }},
    {"gradient_dtype", [](Scenario& s) { s.plan.gradient_dtype = Dtype::bf16; }},
    {"lazy_module_loading", [](Scenario& s) { s.plan.lazy_module_loading = false; }},
    {"deallocate_pipeline_outputs",
     [](Scenario& s) { s.plan.deallocate_pipeline_outputs = false; }},
    {"partition_pipeline_outputs",
     [](Scenario& s) { s.plan.partition_pipeline_outputs = true; },
     [](Scenario& s) {
         s.plan.sequence_parallel = false;
         s.plan.deallocate_pipeline_outputs = false;
     }},
    {"pipeline_engine_groups", [](Scenario& s) { s.plan.pipeline_engine_groups = true; }},
    {"cuda_launch_blocking", [](Scenario& s) { s.plan.cuda_launch_blocking = true; }},
    {"grad_reduce_dtype", [](Scenario& s) { s.plan.grad_reduce_dtype = Dtype::bf16; }},
    {"main_params_dtype", [](Scenario& s) { s.plan.main_params_dtype = Dtype::bf16; }},
    {"bf16_stochastic_round",
     [](Scenario& s) { s.plan.bf16_stochastic_round = true; },
     [](Scenario& s) { s.plan.main_params_dtype = Dtype::bf16; }},
    {"overlap_grad_reduce",
     [](Scenario& s) { s.plan.overlap_grad_reduce = true; },
     [](Scenario& s) { s.plan.ddp_bucket_size = 1'000'000; }},
    {"overlap_param_gather",
     [](Scenario& s) { s.plan.overlap_param_gather = true; },
     [](Scenario& s) { set_strategy(s, ShardingStrategy::optim); }},
    {"overlap_param_gather_with_optimizer_step",
     [](Scenario& s) { s.plan.overlap_param_gather_with_optimizer_step = true; },
     [](Scenario& s) {
         set_strategy(s, ShardingStrategy::optim);
         s.plan.overlap_param_gather = true;
         s.plan.virtual_pipeline_model_parallel_size = 2;
         s.plan.schedule = ScheduleKind::interleaved_1f1b;
     }},
    {"tp_comm_overlap", [](Scenario& s) { s.plan.tp_comm_overlap = true; }},
    {"overlap_p2p", [](Scenario& s) { s.plan.overlap_p2p = true; }},
    {"async_tensor_model_parallel_allreduce",
     [](Scenario& s) { s.plan.async_tensor_model_parallel_allreduce = false; }},
    {"scatter_gather_tensors_in_pipeline",
     [](Scenario& s) { s.plan.scatter_gather_tensors_in_pipeline = false; },
     replicate_activations},
    {"tp_comm_overlap_chunks",
     [](Scenario& s) { s.plan.tp_comm_overlap_chunks = 2; },
     [](Scenario& s) { s.plan.tp_comm_overlap = true; }},
    {"fused_norm", [](Scenario& s) { s.plan.fused_norm = false; }},
    {"fused_activation", [](Scenario& s) { s.plan.fused_activation = false; }},
    {"activation_func_fp8_input_store",
     [](Scenario& s) { s.plan.activation_func_fp8_input_store = true; },
     [](Scenario& s) { s.model.activation = Activation::swiglu; }},
    {"fused_cross_entropy", [](Scenario& s) { s.plan.fused_cross_entropy = false; }},
    {"loss_metrics", [](Scenario& s) { s.plan.loss_metrics = 1; }},
    {"eager_framework", make_eager},
    {"cuda_graphs", [](Scenario& s) { s.plan.cuda_graphs = true; }, make_eager},
    {"cuda_graph_scope",
     [](Scenario& s) { s.plan.cuda_graph_scope = static_cast<std::uint32_t>(CudaGraphPart::attn); },
     make_eager},
    {"compiled",
     [](Scenario& s) { s.plan.compiled = true; },
     [](Scenario& s) { s.plan.fused_norm = false; }},
    {"compiled_loss",
     [](Scenario& s) { s.plan.compiled_loss = false; },
     [](Scenario& s) {
         s.plan.compiled = true;
         s.plan.fused_cross_entropy = false;
     }},
    {"embedding_and_loss_as_layers",
     [](Scenario& s) {  // instead of a layout: 2, 3, 3, 2
         s.plan.embedding_and_loss_as_layers = true;
         s.plan.pipeline_layout.clear();
     },
     [](Scenario& s) {
         s.plan.pipeline_model_parallel_size = 4;
         s.plan.data_parallel_size = 1;
         s.model.num_layers = 10;
         s.plan.pipeline_layout = {3, 2, 2, 3};
     }},
    {"prefetch_behind_backward",
     [](Scenario& s) { s.plan.prefetch_behind_backward = true; },
     [](Scenario& s) {
         set_strategy(s, ShardingStrategy::optim_grads_params);
         s.plan.overlap_param_gather = true;
     }},
    {"ddp_bucket_size",
     [](Scenario& s) { s.plan.ddp_bucket_size = 1'000'000; },
     [](Scenario& s) { s.plan.overlap_grad_reduce = true; }},
    {"pipeline_layout",
     [](Scenario& s) {
         s.plan.pipeline_layout = {1, 3};
     }},
    {"expert_model_parallel_size",
     [](Scenario& s) { s.plan.expert_model_parallel_size = 2; },
     give_experts},
    {"expert_tensor_parallel_size",
     [](Scenario& s) { s.plan.expert_tensor_parallel_size = 1; },
     give_experts},
    {"moe_token_dispatcher_type",
     [](Scenario& s) { s.plan.moe_token_dispatcher_type = TokenDispatcher::allgather; },
     give_experts},
    {"moe_dispatch_dtype",
     [](Scenario& s) { s.plan.moe_dispatch_dtype = Dtype::fp8; },
     spread_experts},
    {"moe_dispatcher_sms",
     [](Scenario& s) { s.plan.moe_dispatcher_sms = 32; },
     [](Scenario& s) {
         spread_experts(s);
         s.plan.moe_token_dispatcher_type = TokenDispatcher::deepep;
     }},
    {"overlap_moe_expert_parallel_comm",
     [](Scenario& s) { s.plan.overlap_moe_expert_parallel_comm = true; },
     overlappable_experts},
    {"delay_wgrad_compute",
     [](Scenario& s) { s.plan.delay_wgrad_compute = true; },
     [](Scenario& s) {
         overlappable_experts(s);
         s.plan.overlap_moe_expert_parallel_comm = true;
     }},
    {"moe_expert_capacity_factor",
     [](Scenario& s) { s.plan.moe_expert_capacity_factor = 0.5; },
     spread_experts},
    {"moe_pad_expert_input_to_capacity",
     [](Scenario& s) { s.plan.moe_pad_expert_input_to_capacity = true; },
     [](Scenario& s) {
         spread_experts(s);
         s.plan.moe_expert_capacity_factor = 1;
     }},
    {"moe_expert_placement",
     [](Scenario& s) { s.plan.moe_expert_placement = ExpertPlacement::balanced; },
     [](Scenario& s) {
         spread_experts(s);
         s.plan.moe_router_load = RouterLoad::zipf;
     }},
    {"moe_lsh_compression_rate",
     [](Scenario& s) { s.plan.moe_lsh_compression_rate = 0.5; },
     spread_experts},
    {"moe_pipeline_degree",
     [](Scenario& s) { s.plan.moe_pipeline_degree = 2; },
     [](Scenario& s) {
         spread_experts(s);
         s.model.add_bias_linear = false;
     }},
    {"moe_mask_products", [](Scenario& s) { s.plan.moe_mask_products = true; }, spread_experts},
    {"moe_tile_overlap",
     [](Scenario& s) { s.plan.moe_tile_overlap = true; },
     [](Scenario& s) {
         spread_experts(s);
         s.model.add_bias_linear = false;
     }},
    {"moe_router_load_trace",
     [](Scenario& s) {
         s.plan.moe_router_load_trace = {5, 1, 1, 1};
     },
     [](Scenario& s) {
         spread_experts(s);
         s.plan.moe_router_load = RouterLoad::trace;
         s.plan.moe_router_load_trace = {1, 1, 1, 1};
     }},
    {"moe_fused_bias",
     [](Scenario& s) { s.plan.moe_fused_bias = true; },
     [](Scenario& s) {
         spread_experts(s);
         s.model.add_bias_linear = true;
     }},
    {"moe_fused_activation",
     [](Scenario& s) { s.plan.moe_fused_activation = true; },
     [](Scenario& s) {
         spread_experts(s);
         s.plan.precision = Dtype::fp8;
         s.plan.fp8_recipe = Fp8Recipe::mxfp8;
     }},
    {"moe_fused_kernels", [](Scenario& s) { s.plan.moe_fused_kernels = true; }, spread_experts},
    {"moe_permute_fusion", [](Scenario& s) { s.plan.moe_permute_fusion = false; }, spread_experts},
    {"moe_gradient_accumulation_fusion",
     [](Scenario& s) { s.plan.moe_gradient_accumulation_fusion = false; },
     spread_experts},
    {"moe_router_fusion",
     [](Scenario& s) { s.plan.moe_router_fusion = true; },
     [](Scenario& s) {
         spread_experts(s);
         s.plan.eager_framework = true;
     }},
    {"moe_shared_expert_overlap",
     [](Scenario& s) { s.plan.moe_shared_expert_overlap = true; },
     spread_experts},
    {"moe_router_load",
     [](Scenario& s) { s.plan.moe_router_load = RouterLoad::uniform; },
     spread_experts},
    {"moe_router_load_alpha",
     [](Scenario& s) { s.plan.moe_router_load_alpha = 2; },
     [](Scenario& s) {
         spread_experts(s);
         s.plan.moe_router_load = RouterLoad::zipf;
     }},
    {"moe_router_load_seed",
     [](Scenario& s) { s.plan.moe_router_load_seed = 2; },
     [](Scenario& s) {
         spread_experts(s);
         s.plan.moe_router_load = RouterLoad::zipf;
     }},
    {"moments_dtype", [](Scenario& s) { s.plan.moments_dtype = Dtype::bf16; }},
    {"fp8_recipe",
     [](Scenario& s) { s.plan.fp8_recipe = Fp8Recipe::tensorwise; },
     [](Scenario& s) { s.plan.precision = Dtype::fp8; }},
    {"fp8_saved_inputs",
     [](Scenario& s) { s.plan.fp8_saved_inputs = false; },
     [](Scenario& s) { s.plan.precision = Dtype::fp8; }},
    {"fp8_param_gather",
     [](Scenario& s) { s.plan.fp8_param_gather = true; },
     [](Scenario& s) {
         set_strategy(s, ShardingStrategy::optim_grads_params);
         s.plan.precision = Dtype::fp8;
     }},
    {"fp8_dot_product_attention",
     [](Scenario& s) { s.plan.fp8_dot_product_attention = true; },
     [](Scenario& s) {
         s.plan.precision = Dtype::fp8;
         s.plan.attention_kernel = AttentionKernel::cudnn;
     }},
    {"reduce_every_micro_batch",
     [](Scenario& s) { s.plan.reduce_every_micro_batch = true; },
     [](Scenario& s) { set_strategy(s, ShardingStrategy::optim_grads); }},
    {"zero_whole_parameters",
     [](Scenario& s) { s.plan.zero_whole_parameters = true; },
     [](Scenario& s) { set_strategy(s, ShardingStrategy::optim); }},
    {"zero_copies_parts",
     [](Scenario& s) { s.plan.zero_copies_parts = true; },
     [](Scenario& s) { set_strategy(s, ShardingStrategy::optim); }},
    {"gradient_bucket_copies", [](Scenario& s) { s.plan.gradient_bucket_copies = true; }},
    {"reduce_bucket_size",
     [](Scenario& s) { s.plan.reduce_bucket_size = 1'000; },
     [](Scenario& s) {
         set_strategy(s, ShardingStrategy::optim_grads_params);
         s.plan.gradient_bucket_copies = true;
     }},
    {"fsdp_copy_out",
     [](Scenario& s) { s.plan.fsdp_copy_out = true; },
     [](Scenario& s) { set_strategy(s, ShardingStrategy::optim_grads_params); }},
};

TEST(PlanFields, ChangeTheProgramOrTheAnswer) {
    expect_effects<ParallelPlan>(kPlanRows, base(), kAnswers);
}

}  // namespace plan_fields_test
}  // namespace orrery
