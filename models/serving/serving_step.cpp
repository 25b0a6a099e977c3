// SPDX-License-Identifier: Apache-2.0
#include "models/serving/serving_step.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "kernels/elementwise/elementwise.h"
#include "kernels/embedding/embedding.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/grouped_gemm.h"
#include "kernels/layernorm/layernorm.h"
#include "kernels/residual/residual.h"
#include "kernels/rmsnorm/rmsnorm.h"
#include "kernels/router/router.h"
#include "models/serving/cached_attention.h"
#include "models/serving/expert_exchange.h"
#include "models/serving/head_norms.h"
#include "models/serving/serving_context.h"
#include "models/serving/serving_kernels.h"

namespace orrery {

namespace {

constexpr Dtype kStream = kServedStream;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
    return (a + b - 1) / b;
}

class StageOps {
public:
    // `shape` is of all ranks of the stage.
    StageOps(const Transformer& model,
             const ServingPlan& plan,
             const BatchShape& shape,
             std::int64_t stage)
        : model_(model),
          plan_(plan),
          attention_plan_(plan_of_attention(plan)),
          stage_tokens_(shape.tokens),
          shape_(share_of_rank(shape, plan)),
          stage_(stage),
          tp_(plan.tensor_model_parallel_size),
          layers_(stage_layers(model, plan, stage)) {}

    std::vector<ServingOp> all() {
        const std::int64_t tokens = shape_.tokens;
        if (tokens == 0) {
            return {};
        }
        if (stage_ == 0) {
            const std::int64_t rows = ceil_div(model_.vocab_size, tp_);
            add("embedding", embedding_forward(tokens, model_.hidden_size, rows, kStream), 1);
            all_reduce("embedding", 1);
            if (model_.embed_layernorm) {
                norm("embedding norm", 1, false);
            }
        }
        attention_block();
        mlp_block(layers_.all - layers_.experts);
        if (layers_.experts > 0) {
            expert_block();
        }
        if (stage_ + 1 < plan_.pipeline_model_parallel_size) {
            const Bytes bytes{tokens * model_.hidden_size / tp_ * size_bytes(kStream)};
            const auto stages = static_cast<std::uint32_t>(plan_.pipeline_model_parallel_size);
            ops_.push_back({.name = "send", .work = SendCall{.bytes = bytes, .ranks = stages}});
        } else {
            output();
        }
        return std::move(ops_);
    }

    std::vector<ServingOp> attention() {
        add_attention();
        return std::move(ops_);
    }

private:
    void add(std::string_view name, const KernelCall& call, std::int64_t count) {
        ops_.push_back({.name = name, .work = call, .count = count});
    }

    void add_product(const ServingPlan& plan,
                     std::string_view name,
                     const KernelCall& call,
                     std::int64_t count) {
        const bool fp4 = plan.precision == ProductPrecision::fp4;
        ops_.push_back({.name = name, .work = call, .count = count, .fp4 = fp4});
    }

    void product(std::string_view name,
                 std::int64_t rows,
                 std::int64_t columns,
                 std::int64_t depth,
                 std::int64_t count) {
        product_by(plan_, name, rows, columns, depth, count);
    }

    // A projection of attention.
    void projection(std::string_view name, std::int64_t columns, std::int64_t depth) {
        product_by(attention_plan_, name, shape_.tokens, columns, depth, layers_.all);
    }

    void product_by(const ServingPlan& plan,
                    std::string_view name,
                    std::int64_t rows,
                    std::int64_t columns,
                    std::int64_t depth,
                    std::int64_t count) {
        if (count == 0) {
            return;
        }
        cast(plan, rows, depth, count);
        KernelCall call = served_product(plan, rows, columns, depth);
        store_in_low_bits(plan, columns * depth, rows * depth, call);
        add_product(plan, name, call, count);
    }

    // The adapters of a projection into `columns` columns.
    void adapt(std::int64_t columns, std::int64_t depth, std::int64_t count) {
        if (shape_.adapters > 0 && plan_.adapter_rank > 0 && count > 0) {
            const AdapterKernels kernels =
                adapter_kernels(shape_.adapters, shape_.tokens, columns, depth, plan_.adapter_rank);
            add("adapter in", kernels.in, count);
            add("adapter out", kernels.out, count);
        }
    }

    void cast(const ServingPlan& plan, std::int64_t rows, std::int64_t width, std::int64_t count) {
        if (!plan.fused_casts && bits_of(plan.precision) < 16) {
            add(kQuantise, quantise_operand(rows, width, plan.precision), count);
        }
    }

    // Products of these rows, each group with weights of its own, and zeros for `others` rows.
    void expert_product(std::string_view name,
                        const std::vector<std::int64_t>& rows,
                        std::int64_t others,
                        std::int64_t columns,
                        std::int64_t depth) {
        KernelCall call = served_experts(plan_, rows, columns, depth);
        const std::int64_t groups = std::ssize(rows) - std::ranges::count(rows, 0);
        const std::int64_t own = std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
        call.bytes += others * columns * size_bytes(kStream);
        store_in_low_bits(plan_, groups * columns * depth, own * depth, call);
        add_product(plan_, name, call, layers_.experts);
    }

    // The pending branch is added to the stream by the norm's kernel (vLLM's fused_add_rms_norm).
    void norm(std::string_view name, std::int64_t count, bool adds = true) {
        const NormWork& work =
            model_.normalization == Normalization::layernorm ? kLayerNorm : kRmsNorm;
        add(name, norm_forward(work, shape_.tokens, model_.hidden_size, kStream, adds), count);
    }

    void all_reduce(std::string_view name, std::int64_t count) {
        if (tp_ > 1 && count > 0) {
            const Bytes bytes{shape_.tokens * model_.hidden_size * size_bytes(kStream)};
            const CollectiveCall call{
                .kind = CollectiveKind::all_reduce, .bytes = bytes, .wire = kStream};
            ops_.push_back({.name = name, .work = call, .count = count});
        }
    }

    std::int64_t heads() const { return ceil_div(model_.num_attention_heads, tp_); }
    std::int64_t key_value_heads() const { return ceil_div(model_.num_query_groups, tp_); }

    void attention_block() {
        norm("norm 1", layers_.all);
        if (model_.multi_latent_attention) {
            latent_projections();
        } else {
            const std::int64_t width = heads() * model_.kv_channels;
            const std::int64_t key_values = key_value_heads() * model_.kv_channels;
            projection("qkv", width + 2 * key_values, model_.hidden_size);
            adapt(width, model_.hidden_size, layers_.all);
            adapt(key_values, model_.hidden_size, 2 * layers_.all);
            add_head_norms(model_, plan_, shape_.tokens, layers_.all, ops_);
        }
        if (model_.position_embedding == PositionEmbedding::rope) {
            add("rotary embedding",
                served_rope(model_, shape_.tokens, heads(), key_value_heads()),
                layers_.all);
        }
        write_cache();
        add_attention();
        projection("projection", model_.hidden_size, heads() * model_.value_head());
        adapt(model_.hidden_size, heads() * model_.value_head(), layers_.all);
        if (!model_.parallel_block) {
            all_reduce("projection", layers_.all);
        }
        output_norm("projection norm", layers_.all);
    }

    void output_norm(std::string_view name, std::int64_t layers) {
        if (model_.sandwich_norm) {
            norm(name, layers, false);
        }
    }

    void write_cache() {
        if (plan_.fused_cache_write) {
            return;
        }
        const std::int64_t width = key_value_bytes_of_rank(model_, plan_, stage_).count() /
                                   size_bytes(plan_.key_value_precision) / layers_.all;
        const Dtype stored = plan_.key_value_precision;
        add(kCacheWrite, written_cache(shape_.tokens, width, stored), layers_.all);
    }

    // Queries, keys and values by way of vectors of few dimensions (DeepSeek-V2, arXiv 2405.04434,
    // section 2.1), which all tensor-parallel ranks compute whole.
    void latent_projections() {
        const std::int64_t tokens = shape_.tokens;
        const std::int64_t down = model_.kv_lora_rank + model_.qk_pos_emb_head_dim;
        projection("latent down", model_.q_lora_rank + down, model_.hidden_size);
        add("latent norm",
            norm_forward(
                kRmsNorm, tokens, model_.q_lora_rank + model_.kv_lora_rank, kStream, false),
            layers_.all);
        projection("query up",
                   heads() * model_.query_head(),
                   model_.q_lora_rank > 0 ? model_.q_lora_rank : model_.hidden_size);
    }

    void mlp_block(std::int64_t layers) {
        if (layers == 0) {
            return;
        }
        if (!model_.parallel_block) {
            norm("norm 2", layers);
        }
        mlp(model_.ffn_hidden_size, layers);
        all_reduce("fc2", layers);
        output_norm("fc2 norm", layers);
    }

    void mlp(std::int64_t ffn_hidden_size, std::int64_t layers) {
        const std::int64_t ffn = ceil_div(ffn_hidden_size, tp_);
        product(
            "fc1", shape_.tokens, model_.gated_mlp() ? 2 * ffn : ffn, model_.hidden_size, layers);
        adapt(ffn, model_.hidden_size, (model_.gated_mlp() ? 2 : 1) * layers);
        add("activation", served_activation(model_, shape_.tokens, ffn), layers);
        product("fc2", shape_.tokens, model_.hidden_size, ffn, layers);
        adapt(model_.hidden_size, ffn, layers);
    }

    // With data-parallel attention rows go to their experts (expert_exchange.h). Otherwise ranks
    // have all tokens, and the sums are those of tensor parallelism.
    void expert_block() {
        const std::int64_t layers = layers_.experts;
        const bool moves = plan_.data_parallel_size > 1;
        norm("norm 2", layers);
        add("router",
            gemm(shape_.tokens,
                 model_.num_experts,
                 model_.hidden_size,
                 1,
                 Dtype::bf16,
                 GemmEpilogue::none,
                 Dtype::fp32),
            layers);
        add("router choice",
            router_forward({.tokens = shape_.tokens,
                            .experts = model_.num_experts,
                            .k = model_.moe_router_topk},
                           Dtype::fp32),
            layers);
        if (exchanges_rows(model_, plan_)) {
            cast(plan_, shape_.tokens, model_.hidden_size, layers);
        }
        if (moves) {
            ops_.push_back(expert_inputs(model_, plan_, shape_.tokens, layers));
        }
        expert_mlp();
        if (model_.moe_shared_expert_intermediate_size > 0) {
            mlp(model_.moe_shared_expert_intermediate_size, layers);
        }
        if (moves) {
            ops_.push_back(expert_sums(model_, plan_, shape_.tokens, layers));
        } else {
            all_reduce("expert sums", layers);
        }
        output_norm("expert norm", layers);
    }

    // The MLP of a layer with experts.
    void expert_mlp() {
        const std::int64_t tokens = stage_tokens_;
        const std::size_t first = ops_.size();
        const std::vector<std::int64_t> rows = expert_rows_of_rank(model_, plan_, tokens);
        const std::int64_t width = ceil_div(model_.expert_ffn_size(), plan_.expert_tensor_size());
        const std::int64_t own = std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
        // An exchange brings no rows of other ranks' experts.
        const bool masks = plan_.masks_experts && !exchanges_rows(model_, plan_);
        const std::int64_t all = masks ? std::max(own, tokens * model_.moe_router_topk) : own;
        if (masks) {
            add(kExpertOrder, expert_order(tokens * model_.moe_router_topk), 2 * layers_.experts);
        }
        add(kPermute, moved_rows(own, std::min(own, tokens), model_.hidden_size), layers_.experts);
        if (!exchanges_rows(model_, plan_)) {
            cast(plan_, own, model_.hidden_size, layers_.experts);
        }
        expert_product(kExpertProducts[0],
                       rows,
                       all - own,
                       model_.gated_mlp() ? 2 * width : width,
                       model_.hidden_size);
        add("expert activation", served_activation(model_, all, width), layers_.experts);
        cast(plan_, all, width, layers_.experts);
        expert_product(kExpertProducts[1], rows, all - own, model_.hidden_size, width);
        add(kUnpermute,
            moved_rows(all, std::min(all, tokens), model_.hidden_size),
            layers_.experts);
        for (std::size_t i = first; i < ops_.size(); ++i) {
            ops_[i].of_expert_rows = std::ranges::count(kExpertProducts, ops_[i].name) == 0;
        }
    }

    // The last norm, and the output layer of the rows that yield a token.
    void output() {
        norm("final norm", 1);
        if (shape_.sampled == 0) {
            return;
        }
        const std::int64_t columns = ceil_div(model_.vocab_size, tp_);
        add("logits",
            gemm(shape_.sampled,
                 columns,
                 model_.hidden_size,
                 1,
                 Dtype::bf16,
                 GemmEpilogue::none,
                 kStream),
            1);
        if (tp_ > 1) {
            ops_.push_back({.name = "logits",
                            .work = CollectiveCall{.kind = CollectiveKind::all_gather,
                                                   .bytes = Bytes{shape_.sampled * columns * tp_ *
                                                                  size_bytes(kStream)},
                                                   .wire = kStream}});
        }
    }

    void add_attention() {
        if (model_.multi_latent_attention) {
            add_latent_attention();
        } else {
            add_attention_of(layers_.all - layers_.windowed, 0);
            add_attention_of(layers_.windowed, model_.sliding_window);
        }
        add_context_exchange(model_, plan_, shape_, layers_.all, ops_);
    }

    void add_attention_of(std::int64_t layers, std::int64_t window) {
        if (layers == 0) {
            return;
        }
        AttentionShape shape{.heads = heads(),
                             .kv_heads = key_value_heads(),
                             .head_dim = model_.kv_channels,
                             .window = window,
                             .generation = plan_.attention};
        if (shape_.generating > 0) {
            shape.batch = shape_.generating;
            shape.seq_q = rows_of_sequence();
            shape.seq_kv = ceil_div(shape_.generating_context, shape_.generating) + shape.seq_q - 1;
            add_attention_kernel(kDecodeAttention, cached_attention(model_, plan_, shape), layers);
        }
        prompt_kernel(shape, layers);
    }

    // Its own token, and the mean number of proposals.
    std::int64_t rows_of_sequence() const {
        return 1 + ceil_div(shape_.drafted, shape_.generating);
    }

    void prompt_kernel(const AttentionShape& shape, std::int64_t layers) {
        if (!shape_.chunks.empty()) {
            add_attention_kernel(
                kPromptAttention, prompt_attention(model_, plan_, shape, shape_.chunks), layers);
        }
    }

    // Sequences that generate attend to the latent vectors themselves: all heads share them, and
    // queries and outputs pass through the projections of keys and values instead (absorption).
    // Prompts compute their keys and values.
    void add_latent_attention() {
        const std::int64_t latent = model_.kv_lora_rank;
        if (shape_.generating > 0) {
            const std::int64_t rows = shape_.generating + shape_.drafted;
            context_product("query absorption", rows, latent, model_.qk_head_dim);
            const AttentionShape shape{
                .batch = shape_.generating,
                .seq_q = rows_of_sequence(),
                .seq_kv =
                    ceil_div(shape_.generating_context, shape_.generating) + rows_of_sequence() - 1,
                .heads = heads(),
                .kv_heads = 1,
                .head_dim = latent + model_.qk_pos_emb_head_dim,
                .generation = plan_.attention,
                .value_dim = latent};
            add_attention_kernel(
                kDecodeAttention, cached_attention(model_, plan_, shape), layers_.all);
            context_product("value absorption", rows, model_.v_head_dim, latent);
            if (!plan_.fused_cache_write) {
                add_attention_kernel(
                    "head order", ordered_heads(rows * heads(), latent), 3 * layers_.all);
            }
        }
        std::int64_t seen = 0;
        for (const PromptChunk& chunk : shape_.chunks) {
            seen += chunk.context + chunk.new_tokens;
        }
        keys_and_values_of(seen);
        prompt_kernel({.heads = heads(),
                       .kv_heads = heads(),
                       .head_dim = model_.query_head(),
                       .generation = plan_.attention,
                       .value_dim = model_.v_head_dim},
                      layers_.all);
    }

    // Keys and values from latent vectors, in the precision of the projections; absorbed products
    // have 16 bits. Keys are copied to their rotated part (TensorRT-LLM, _torch/modules/
    // attention.py: forward_context_default; SGLang, models/deepseek_v2.py: forward_normal).
    void keys_and_values_of(std::int64_t seen) {
        if (seen == 0) {
            return;
        }
        const std::size_t first = ops_.size();
        const std::int64_t width = heads() * (model_.qk_head_dim + model_.v_head_dim);
        const std::int64_t depth = model_.kv_lora_rank;
        product_by(attention_plan_, "key value up", seen, width, depth, layers_.all);
        add_attention_kernel(
            "head order", ordered_heads(seen * heads(), model_.qk_head_dim), layers_.all);
        for (std::size_t i = first; i < ops_.size(); ++i) {
            ops_[i].of_context = true;
        }
    }

    // A product a head.
    void context_product(std::string_view name,
                         std::int64_t rows,
                         std::int64_t columns,
                         std::int64_t depth) {
        const KernelCall call =
            gemm(rows, columns, depth, heads(), kStream, GemmEpilogue::none, kStream);
        ops_.push_back({.name = name, .work = call, .count = layers_.all, .of_context = true});
    }

    void add_attention_kernel(std::string_view name, const KernelCall& call, std::int64_t layers) {
        ops_.push_back({.name = name, .work = call, .count = layers, .of_context = true});
    }

    const Transformer& model_;
    const ServingPlan& plan_;
    ServingPlan attention_plan_;  // of its projections
    std::int64_t stage_tokens_;
    BatchShape shape_;  // of one data-parallel rank
    std::int64_t stage_;
    std::int64_t tp_;
    StageLayers layers_;
    std::vector<ServingOp> ops_;
};

}  // namespace

std::vector<ServingOp> serving_ops(const Transformer& model,
                                   const ServingPlan& plan,
                                   const BatchShape& shape,
                                   std::int64_t stage) {
    return StageOps(model, plan, shape, stage).all();
}

std::vector<ServingOp> attention_ops(const Transformer& model,
                                     const ServingPlan& plan,
                                     const BatchShape& shape,
                                     std::int64_t stage) {
    return StageOps(model, plan, shape, stage).attention();
}

}  // namespace orrery
