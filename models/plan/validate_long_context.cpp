// SPDX-License-Identifier: Apache-2.0
#include "models/plan/validate_long_context.h"

#include <fmt/format.h>

#include <algorithm>

namespace orrery {
namespace {

class TileRules {
public:
    TileRules(const Transformer& model, const ParallelPlan& plan) : model_(model), plan_(plan) {}

    Errors check() {
        if (plan_.mlp_tile_tokens > 0) {
            any_tiles("plan.mlp_tile_tokens", plan_.mlp_tile_tokens);
            mlp_tiles();
        }
        if (plan_.loss_tile_tokens > 0) {
            any_tiles("plan.loss_tile_tokens", plan_.loss_tile_tokens);
            require(plan_.loss_metrics == 0,
                    "plan.loss_metrics",
                    "losses for reports read all logits, which tiles do not keep",
                    "0, or plan.loss_tile_tokens: 0");
            require(plan_.kept_logits == 0,
                    "plan.kept_logits",
                    "tiles of the loss leave no logits to keep",
                    "0, or plan.loss_tile_tokens: 0");
        }
        offload();
        distributed_inputs();
        require(!plan_.checkpoint_early_stop || !plan_.reentrant_checkpoint,
                "plan.checkpoint_early_stop",
                "a reentrant checkpoint runs a layer again to its end",
                "false, or plan.reentrant_checkpoint: false");
        kernels();
        linear_attention();
        return std::move(errors_);
    }

private:
    void require(bool good, const char* key, std::string what, std::string hint) {
        if (!good) {
            errors_.push_back({key, std::move(what), std::move(hint)});
        }
    }

    void any_tiles(const char* key, std::int64_t tokens) {
        require(plan_.tensor_model_parallel_size == 1 &&
                    plan_.stage_tensor_model_parallel_sizes.empty(),
                key,
                "tiles are of weights that a rank has whole",
                "0, or tensor_model_parallel_size: 1");
        require(plan_.precision != Dtype::fp8,
                key,
                "tiles are not computed in fp8",
                "0, or precision: bf16");
        require(plan_.schedule != ScheduleKind::zero_bubble &&
                    plan_.schedule != ScheduleKind::dual_pipe &&
                    plan_.schedule != ScheduleKind::dual_pipe_v && !plan_.delay_wgrad_compute,
                key,
                "a tile's gradients of weights can't be left for later",
                "0, or schedule: 1f1b");
        const std::int64_t own = model_.seq_length /
                                 std::max<std::int64_t>(plan_.context_parallel_size, 1) *
                                 plan_.micro_batch_size;
        require(
            own / tokens < kTpCommOverlapChunksMax,
            key,
            fmt::format("{} tokens of a rank are {} tiles or more", own, kTpCommOverlapChunksMax),
            fmt::format("{} or more", own / kTpCommOverlapChunksMax + 1));
    }

    void mlp_tiles() {
        const char* const key = "plan.mlp_tile_tokens";
        require(model_.num_experts == 0, key, "experts have no tiles", "0");
        require(!model_.parallel_block,
                key,
                "the MLP of a parallel block is part of one sum with attention",
                "0");
        require(!model_.add_bias_linear, key, "tiles have no biases", "0");
        constexpr std::uint32_t kWithTiles = modules_within(LayerPart::core | LayerPart::norms);
        require(!plan_.recomputes(~kWithTiles),
                "plan.recompute_modules",
                "a tile of the MLP runs again anyway",
                words_of_modules(kWithTiles) + ", or plan.mlp_tile_tokens: 0");
    }

    void offload() {
        const char* const key = "plan.activation_offload_fraction";
        require(plan_.activation_offload_fraction == 0 ||
                    plan_.recompute_granularity == Recompute::full,
                key,
                "what goes to the host are the inputs of layers that full recomputation keeps",
                "0, or recompute_granularity: full");
        require(plan_.activation_offload_fraction >= 0 && plan_.activation_offload_fraction <= 1,
                key,
                "is a share",
                "0 to 1");
        require(!plan_.activation_offload_blocking || plan_.activation_offload_fraction > 0,
                "plan.activation_offload_blocking",
                "no layer input goes to the host",
                "false, or plan.activation_offload_fraction: 1");
        whole_layers_offload();
    }

    void distributed_inputs() {
        const char* const key = "plan.distribute_saved_activations";
        if (!plan_.distribute_saved_activations) {
            return;
        }
        require(plan_.tensor_model_parallel_size > 1 ||
                    !plan_.stage_tensor_model_parallel_sizes.empty(),
                key,
                "one rank has no others to share its layer inputs with",
                "false, or plan.tensor_model_parallel_size: 2");
        require(plan_.recompute_granularity == Recompute::full,
                key,
                "the inputs of layers are kept by full recomputation",
                "false, or plan.recompute_granularity: full");
        require(!plan_.sequence_parallel,
                key,
                "sequence parallelism has split the inputs of layers",
                "false, or plan.sequence_parallel: false");
        const std::int64_t parts = plan_.tensor_model_parallel_size * plan_.context_parallel_size;
        require(model_.seq_length % std::max<std::int64_t>(parts, 1) == 0,
                key,
                fmt::format("{} tokens are not {} equal parts", model_.seq_length, parts),
                "false");
    }

    void kernels() {
        const std::int64_t most = tokens_of_32_bit_offsets(model_, plan_);
        require(!plan_.norm_32_bit_offsets || tokens_of_norms(model_, plan_) <= most,
                "plan.norm_32_bit_offsets",
                fmt::format("a rank's {} tokens are more than the {} that these offsets reach",
                            tokens_of_norms(model_, plan_),
                            most),
                "a larger plan.context_parallel_size, or false");
        const char* const key = "plan.attention_backward_buffers";
        if (!plan_.attention_backward_buffers) {
            return;
        }
        require(plan_.attention_kernel == AttentionKernel::flash_2,
                key,
                "the buffers are those of FlashAttention 2",
                "false, or plan.attention_kernel: flash_2");
        require(plan_.context_parallel_size == 1 ||
                    plan_.context_parallel_comm == ContextParallelComm::all_to_all,
                key,
                "a rank attends to keys and values in several calls",
                "false, or plan.context_parallel_comm: all_to_all");
        require(!model_.multi_latent_attention && model_.linear_attention_every == 0,
                key,
                "heads of queries, keys and values have one size, and a softmax",
                "false");
    }

    void whole_layers_offload() {
        const char* const key = "plan.cpu_offloading_num_layers";
        const std::int64_t layers = plan_.cpu_offloading_num_layers;
        require(layers == 0 || (layers > 0 && layers < model_.num_layers),
                key,
                fmt::format("the backward pass begins at once with the last of {} layers",
                            model_.num_layers),
                fmt::format("0 to {}", model_.num_layers - 1));
        require(layers == 0 || plan_.pipeline_model_parallel_size == 1,
                key,
                "the layers of several stages have no offload",
                "0, or plan.pipeline_model_parallel_size: 1");
        require(layers == 0 || plan_.recompute_granularity == Recompute::none,
                key,
                "what is computed again does not go to the host",
                "0, or plan.recompute_granularity: none");
    }

    void linear_attention() {
        const char* const key = "model.linear_attention_every";
        const bool some = model_.linear_attention_every > 0;
        require(!some || !model_.multi_latent_attention,
                key,
                "latent attention has a softmax",
                "0, or multi_latent_attention: false");
        require(!some || model_.sliding_window == 0,
                key,
                "linear attention has no window",
                "0, or sliding_window: 0");
        require(!some || plan_.context_parallel_size == 1 ||
                    plan_.context_parallel_comm != ContextParallelComm::all_gather,
                "plan.context_parallel_comm",
                "linear attention passes a state on, and no keys and values",
                "ring");
    }

    const Transformer& model_;
    const ParallelPlan& plan_;
    Errors errors_;
};

}  // namespace

std::int64_t tokens_of_32_bit_offsets(const Transformer& model, const ParallelPlan& plan) {
    const std::int64_t heads = model.qk_layernorm ? model.query_size() : 0;
    const std::int64_t tensor_ranks = std::max<std::int64_t>(plan.tensor_model_parallel_size, 1);
    const std::int64_t width = std::max(model.hidden_size, heads / tensor_ranks);
    return (std::int64_t{1} << 31) / std::max<std::int64_t>(width, 1);
}

std::int64_t tokens_of_norms(const Transformer& model, const ParallelPlan& plan) {
    const std::int64_t parts =
        plan.context_parallel_size * (plan.sequence_parallel ? plan.tensor_model_parallel_size : 1);
    return model.seq_length / std::max<std::int64_t>(parts, 1) * plan.micro_batch_size;
}

Errors check_long_context(const Transformer& model, const ParallelPlan& plan) {
    return TileRules{model, plan}.check();
}

}  // namespace orrery
