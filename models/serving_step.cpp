// SPDX-License-Identifier: Apache-2.0
#include "models/serving_step.h"

#include <algorithm>

#include "engine/check.h"
#include "kernels/activation/activation.h"
#include "kernels/embedding/embedding.h"
#include "kernels/gemm/gemm.h"
#include "kernels/layernorm/layernorm.h"
#include "kernels/residual/residual.h"
#include "kernels/rmsnorm/rmsnorm.h"
#include "kernels/rope/rope.h"

namespace orrery {

namespace {

constexpr Dtype kStream = Dtype::bf16;  // of activations between products

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
    return (a + b - 1) / b;
}

class StageOps {
public:
    StageOps(const Transformer& model,
             const ServingPlan& plan,
             const BatchShape& shape,
             std::int64_t stage)
        : model_(model),
          plan_(plan),
          shape_(shape),
          stage_(stage),
          tp_(plan.tensor_model_parallel_size),
          layers_(layers_of_stage(model, plan, stage)) {}

    std::vector<ServingOp> all() {
        const std::int64_t tokens = shape_.tokens;
        if (tokens == 0) {
            return {};
        }
        if (stage_ == 0) {
            add("embedding",
                embedding_forward(
                    tokens, model_.hidden_size, ceil_div(model_.vocab_size, tp_), kStream),
                1);
            all_reduce("embedding", 1);
        }
        attention_block();
        mlp_block();
        if (stage_ + 1 < plan_.pipeline_model_parallel_size) {
            ops_.push_back(
                {.name = "send",
                 .work = SendCall{Bytes{tokens * model_.hidden_size / tp_ * size_bytes(kStream)}}});
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

    void product(std::string_view name,
                 std::int64_t rows,
                 std::int64_t columns,
                 std::int64_t depth,
                 std::int64_t count) {
        KernelCall call =
            gemm(rows, columns, depth, 1, plan_.precision, GemmEpilogue::none, kStream);
        // The weights alone are stored in fewer bits.
        call.bytes -= columns * depth * (size_bytes(plan_.precision) * 8 - plan_.weight_bits) / 8;
        add(name, call, count);
    }

    // The pending branch is added to the stream by the norm's kernel (vLLM's fused_add_rms_norm).
    void norm(std::string_view name, std::int64_t count) {
        const NormWork& work =
            model_.normalization == Normalization::layernorm ? kLayerNorm : kRmsNorm;
        add(name, norm_forward(work, shape_.tokens, model_.hidden_size, kStream, true), count);
    }

    void all_reduce(std::string_view name, std::int64_t count) {
        if (tp_ > 1) {
            ops_.push_back(
                {.name = name,
                 .work = CollectiveCall{.kind = CollectiveKind::all_reduce,
                                        .bytes = Bytes{shape_.tokens * model_.hidden_size *
                                                       size_bytes(kStream)},
                                        .wire = kStream},
                 .count = count});
        }
    }

    std::int64_t heads() const { return ceil_div(model_.num_attention_heads, tp_); }
    std::int64_t key_value_heads() const { return ceil_div(model_.num_query_groups, tp_); }

    void attention_block() {
        const std::int64_t tokens = shape_.tokens;
        const std::int64_t width = heads() * model_.kv_channels;
        const std::int64_t key_values = key_value_heads() * model_.kv_channels;
        norm("norm 1", layers_);
        product("qkv", tokens, width + 2 * key_values, model_.hidden_size, layers_);
        if (model_.position_embedding == PositionEmbedding::rope) {
            add("rotary embedding",
                rope(tokens, heads() + key_value_heads(), model_.kv_channels, kStream),
                layers_);
        }
        add_attention();
        product("projection", tokens, model_.hidden_size, width, layers_);
        if (!model_.parallel_block) {
            all_reduce("projection", layers_);
        }
    }

    void mlp_block() {
        const std::int64_t tokens = shape_.tokens;
        const std::int64_t ffn = ceil_div(model_.ffn_hidden_size, tp_);
        if (!model_.parallel_block) {
            norm("norm 2", layers_);
        }
        product("fc1", tokens, model_.gated_mlp() ? 2 * ffn : ffn, model_.hidden_size, layers_);
        const bool squared_relu = model_.activation == Activation::squared_relu;
        const bool geglu = model_.activation == Activation::geglu;
        add("activation",
            model_.gated_mlp() ? swiglu_forward(tokens, ffn, kStream, geglu)
                               : gelu_forward(tokens, ffn, kStream, squared_relu),
            layers_);
        product("fc2", tokens, model_.hidden_size, ffn, layers_);
        all_reduce("fc2", layers_);
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
        const std::int64_t windowed = num_windowed();
        add_attention_of(layers_ - windowed, 0);
        add_attention_of(windowed, model_.sliding_window);
    }

    // Layers of this stage whose attention sees a window only.
    std::int64_t num_windowed() const {
        if (model_.sliding_window <= 0) {
            return 0;
        }
        std::int64_t first = 0;
        for (std::int64_t stage = 0; stage < stage_; ++stage) {
            first += layers_of_stage(model_, plan_, stage);
        }
        std::int64_t found = 0;
        for (std::int64_t layer = first; layer < first + layers_; ++layer) {
            found += (layer + 1) % model_.sliding_window_every == 0 ? 1 : 0;
        }
        return found;
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
            shape.seq_q = 1;
            shape.seq_kv = ceil_div(shape_.generating_context, shape_.generating);
            attention_kernel("decode attention", shape, layers);
        }
        for (const PromptChunk& chunk : shape_.chunks) {
            shape.batch = 1;
            shape.seq_q = chunk.new_tokens;
            shape.seq_kv = chunk.context + chunk.new_tokens;
            attention_kernel("prompt attention", shape, layers);
        }
    }

    void attention_kernel(std::string_view name, const AttentionShape& shape, std::int64_t layers) {
        KernelCall call = attention_forward(shape, kStream);
        // Queries and outputs are in 16 bits, what is read of the cache is in its own precision.
        const std::int64_t seen = shape.window > 0
                                      ? std::min(shape.window + shape.seq_q - 1, shape.seq_kv)
                                      : shape.seq_kv;
        const std::int64_t cached = 2 * shape.batch * shape.kv_heads * shape.head_dim;
        call.bytes += cached * (seen * size_bytes(plan_.key_value_precision) -
                                shape.seq_kv * size_bytes(kStream));
        ops_.push_back({.name = name, .work = call, .count = layers, .of_context = true});
    }

    const Transformer& model_;
    const ServingPlan& plan_;
    const BatchShape& shape_;
    std::int64_t stage_;
    std::int64_t tp_;
    std::int64_t layers_;
    std::vector<ServingOp> ops_;
};

}  // namespace

BatchShape shape_of(const Batch& batch) {
    BatchShape shape;
    for (const SequenceStep& step : batch.steps) {
        shape.tokens += step.new_tokens;
        shape.sampled += step.samples ? 1 : 0;
        if (step.new_tokens == 1 && step.context > 0) {
            ++shape.generating;
            shape.generating_context += step.context + 1;
        } else {
            shape.chunks.push_back({.new_tokens = step.new_tokens, .context = step.context});
        }
    }
    return shape;
}

std::int64_t layers_of_stage(const Transformer& model,
                             const ServingPlan& plan,
                             std::int64_t stage) {
    const std::int64_t stages = plan.pipeline_model_parallel_size;
    ORRERY_CHECK(stage >= 0 && stage < stages);
    return model.num_layers / stages + (stage < model.num_layers % stages ? 1 : 0);
}

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

Bytes key_value_bytes(const Transformer& model, const ServingPlan& plan) {
    return Bytes{2 * model.kv_size() * size_bytes(plan.key_value_precision) * model.num_layers};
}

Bytes key_value_bytes_of_rank(const Transformer& model,
                              const ServingPlan& plan,
                              std::int64_t stage) {
    const std::int64_t heads = ceil_div(model.num_query_groups, plan.tensor_model_parallel_size);
    return Bytes{2 * heads * model.kv_channels * size_bytes(plan.key_value_precision) *
                 layers_of_stage(model, plan, stage)};
}

Bytes serving_weight_bytes(const Transformer& model, const ServingPlan& plan, std::int64_t stage) {
    const std::int64_t tp = plan.tensor_model_parallel_size;
    const std::int64_t last = plan.pipeline_model_parallel_size - 1;
    constexpr std::int64_t kHalf = 2;  // bytes
    std::int64_t bytes = ceil_div(layer_parameters(model), tp) * plan.weight_bits / 8 *
                         layers_of_stage(model, plan, stage);
    if (stage == 0) {
        bytes += ceil_div(embedding_parameters(model), tp) * kHalf;
    }
    if (stage == last) {
        bytes += ceil_div(output_parameters(model), tp) * kHalf;
        // A tied output layer on a stage of its own is a second copy.
        if (model.tied_embeddings && last > 0) {
            bytes += ceil_div(embedding_parameters(model), tp) * kHalf;
        }
    }
    return Bytes{bytes};
}

}  // namespace orrery
