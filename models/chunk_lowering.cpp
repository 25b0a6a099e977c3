// SPDX-License-Identifier: Apache-2.0
#include "models/chunk_lowering.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/cross_entropy/cross_entropy.h"
#include "kernels/embedding/embedding.h"
#include "kernels/residual/residual.h"
#include "models/layer_nodes.h"
#include "models/parameters.h"
#include "models/unit_weights.h"

namespace orrery {
namespace {

constexpr auto kElementwise = Cause::memory_bound_kernels;

struct HeadActivations {
    NormActivations before_norm;
    Value norm;
    Value logits;
    Value probabilities;  // fp32, kept by the unfused loss
    Value labels;
    // Per token: the largest logit, the sum of exponentials, the target's logit.
    Value maximum;
    Value sum;
    Value target;
};

// The parameters whose gradients are left for later.
ParameterSet parameters_of(const Deferred& later) {
    ParameterSet parameters;
    for (const DeferredProducts& products : later) {
        parameters.insert(parameters.end(), products.weights.begin(), products.weights.end());
    }
    return parameters;
}

class ChunkLowering {
public:
    ChunkLowering(ProgramTables& tables,
                  const Transformer& model,
                  const ParallelPlan& plan,
                  const LayoutAssignment& layouts,
                  Chunk& chunk)
        : tables_(tables), model_(model), plan_(plan), layouts_(layouts), chunk_(chunk) {}

    void forward();
    void backward();

private:
    BlockBuilder builder(std::string_view pass) {
        return {tables_,
                model_,
                plan_,
                layouts_,
                fmt::format("stage {} chunk {} {}", chunk_.shape.stage, chunk_.shape.chunk, pass)};
    }
    // What is used at one time, in forward order: the embedding, each layer, the head.
    std::vector<ParameterSet> sets();
    UnitWeights unit_weights(BlockBuilder& b, UnitWeights::For pass);
    // Ids of a micro-batch that the data loader writes.
    Value token_ids(BlockBuilder& b, std::string_view name);
    Value embed(BlockBuilder& b);
    void embed_backward(BlockBuilder& b, const Value& dsum);
    void head(BlockBuilder& b, ResidualStream& stream);
    void loss(BlockBuilder& b);
    // A compiler fuses the loss as well (torch.compile of the loss function, XLA).
    bool fused_loss() const { return plan_.fused_cross_entropy || plan_.compiled; }
    TensorId mean_loss();
    Value head_backward(BlockBuilder& b, Deferred* deferred);
    LayerRecompute recompute_of_layer(std::size_t i) const;
    void run_unit_again(BlockBuilder& b, std::size_t last);
    // The segment of the weight gradients that the backward pass left for later, by unit.
    void weight_gradients(const std::vector<Deferred>& later);

    ProgramTables& tables_;
    const Transformer& model_;
    const ParallelPlan& plan_;
    const LayoutAssignment& layouts_;
    Chunk& chunk_;
    std::vector<Tape> tapes_;  // of the layers
    HeadActivations head_;
    Value tokens_;
    Value embedding_mask_;  // of its dropout
};

std::vector<ParameterSet> ChunkLowering::sets() {
    std::vector<ParameterSet> all;
    const auto add = [&](ParameterSet set) {
        std::erase_if(set, [](const Parameter* p) { return p->elements == 0; });
        all.push_back(std::move(set));
    };
    if (chunk_.shape.has_embedding) {
        add({&chunk_.embedding, &chunk_.position});
    }
    for (LayerParameters& layer : chunk_.layers) {
        add(layer.present());
    }
    if (chunk_.shape.has_head) {
        add({&chunk_.final_norm, &chunk_.output});
    }
    return all;
}

UnitWeights ChunkLowering::unit_weights(BlockBuilder& b, UnitWeights::For pass) {
    std::vector<ParameterSet> all = sets();
    std::vector<bool> layers(all.size(), true);
    layers.front() = !chunk_.shape.has_embedding;
    layers.back() = layers.back() && !chunk_.shape.has_head;
    if (pass == UnitWeights::For::backward) {
        std::ranges::reverse(all);
        std::reverse(layers.begin(), layers.end());
    }
    return {b, pass, std::move(all), std::move(layers)};
}

Value ChunkLowering::token_ids(BlockBuilder& b, std::string_view name) {
    Value ids = b.value(
        name, 1, layouts_.tokens, Lifetime::micro_batch, Dtype::int32, TensorKind::activations);
    tables_.program().tensors[index(ids.tensor)].input = true;
    return ids;
}

Value ChunkLowering::embed(BlockBuilder& b) {
    tokens_ = token_ids(b, "tokens");
    const Parameter& table = chunk_.embedding;
    Layout layout = layouts_.tokens;
    for (std::size_t digit = 0; digit < layout.size(); ++digit) {
        if (layouts_.embedding[digit] == sharded(kInput)) {
            layout[digit] = partial();  // each rank knows only its rows of the table
        }
    }
    const Value rows = b.value("embedding", model_.hidden_size, layout, Lifetime::slot);
    b.kernel("embedding",
             embedding_forward(
                 b.local_tokens(rows), model_.hidden_size, b.local_input(table), rows.dtype),
             kElementwise,
             {&tokens_},
             {&rows},
             {table.weight});
    const Value x = b.relayout("embedding reduce", rows, layouts_.residual, Lifetime::micro_batch);
    b.outlive_slot(x);
    if (chunk_.position.elements > 0) {
        b.kernel("position embedding",
                 residual_add(b.local_tokens(x), model_.hidden_size, x.dtype),
                 kElementwise,
                 {},
                 {},
                 {chunk_.position.weight},
                 {x.tensor});
    }
    if (model_.dropout > 0) {
        embedding_mask_ = b.value("embedding dropout mask",
                                  model_.hidden_size,
                                  x.layout,
                                  Lifetime::micro_batch,
                                  Dtype::uint8,
                                  TensorKind::activations);
        b.set_random(embedding_mask_, RandomPurpose::embedding_dropout, 0);
        b.kernel("embedding dropout",
                 dropout(b.local_tokens(x), model_.hidden_size, x.dtype),
                 kElementwise,
                 {},
                 {&embedding_mask_},
                 b.dropout_scalars(),
                 {x.tensor});
    }
    return x;
}

void ChunkLowering::embed_backward(BlockBuilder& b, const Value& dsum) {
    Value dresidual = dsum;
    if (model_.dropout > 0) {
        dresidual = b.value("embedding dropout backward",
                            model_.hidden_size,
                            dsum.layout,
                            Lifetime::slot,
                            dsum.dtype,
                            TensorKind::activations);
        b.kernel("embedding dropout backward",
                 dropout(b.local_tokens(dsum), model_.hidden_size, dsum.dtype),
                 kElementwise,
                 {&dsum, &embedding_mask_},
                 {&dresidual},
                 b.dropout_scalars());
    }
    const Value rows = b.relayout("embedding gradient gather", dresidual, layouts_.tokens);
    Parameter& table = chunk_.embedding;
    table.gradient_layout = weight_gradient(layouts_.tokens, layouts_.tokens);
    b.kernel("embedding backward",
             embedding_backward(
                 b.local_tokens(rows), model_.hidden_size, b.local_input(table), rows.dtype),
             kElementwise,
             {&tokens_, &rows},
             {},
             {},
             {table.gradient});
    if (chunk_.position.elements > 0) {
        b.bias_gradient("position embedding gradient", dresidual, chunk_.position);
    }
}

void ChunkLowering::head(BlockBuilder& b, ResidualStream& stream) {
    head_.norm = norm_forward(b,
                              "final norm",
                              stream,
                              chunk_.final_norm,
                              {Lifetime::micro_batch, Lifetime::micro_batch},
                              head_.before_norm);
    const Layout needed = gemm_input(head_.norm.layout, chunk_.output.layout);
    const Value gathered = b.relayout("logits gather", head_.norm, needed);
    head_.logits = b.product("logits", gathered, chunk_.output, Lifetime::micro_batch);
    loss(b);
}

// The loss of the step, summed over micro-batches.
TensorId ChunkLowering::mean_loss() {
    return tables_.tensor({.name = "loss",
                           .parameter = {},
                           .dtype = Dtype::fp32,
                           .kind = TensorKind::workspace,
                           .lifetime = Lifetime::step,
                           .global_shape = {1},
                           .layout = Layout(layouts_.mesh.digits().size()),
                           .bytes = Bytes{size_bytes(Dtype::fp32)}});
}

void ChunkLowering::loss(BlockBuilder& b) {
    const std::int64_t tokens = b.local_tokens(head_.logits);
    const std::int64_t vocab = b.local_width(head_.logits);
    const bool fused = fused_loss();
    // Each rank of a sharded vocabulary has a part of a token's statistics (Megatron-LM's
    // vocab_parallel_cross_entropy).
    Layout parts = head_.logits.layout;
    for (DigitPlacement& p : parts) {
        p = p == sharded(kWidth) ? partial() : p;
    }
    Layout whole = parts;
    for (DigitPlacement& p : whole) {
        p = p == partial() ? replicated() : p;
    }
    const auto statistic = [&](std::string_view name) {
        return b.value(name, 1, parts, Lifetime::micro_batch, Dtype::fp32, TensorKind::activations);
    };
    head_.labels = token_ids(b, "labels");
    head_.maximum = statistic("loss maximum");
    head_.sum = statistic("loss sum");
    head_.target = statistic("loss target");
    std::vector<const Value*> written{&head_.maximum, &head_.sum, &head_.target};
    if (!fused) {
        head_.probabilities = b.value("loss probabilities",
                                      model_.vocab_size,
                                      head_.logits.layout,
                                      Lifetime::micro_batch,
                                      Dtype::fp32,
                                      TensorKind::activations);
        written.push_back(&head_.probabilities);
    }
    b.kernel("loss",
             cross_entropy_forward(tokens, vocab, head_.logits.dtype, fused),
             kElementwise,
             {&head_.logits, &head_.labels},
             written);
    constexpr Lifetime kept = Lifetime::micro_batch;
    const Value local_maximum = head_.maximum;
    head_.maximum = b.relayout("loss maximum", head_.maximum, whole, kept, 1, Reduction::max);
    if (head_.maximum.tensor != local_maximum.tensor) {
        // The parts' sums become relative to the common maximum before they are added.
        b.kernel("loss rescale",
                 cross_entropy_forward(tokens, 1, Dtype::fp32, true),
                 kElementwise,
                 {&local_maximum, &head_.maximum},
                 {},
                 {},
                 {head_.sum.tensor});
    }
    head_.target = b.relayout("loss target", head_.target, whole, kept);
    head_.sum = b.relayout("loss sum", head_.sum, whole, kept);
    b.kernel("loss mean",
             cross_entropy_forward(tokens, 1, Dtype::fp32, true),
             kElementwise,
             {&head_.labels, &head_.maximum, &head_.sum, &head_.target},
             {},
             {tables_.scalars()},
             {mean_loss()});
    for (std::int64_t i = 0; i < plan_.loss_metrics; ++i) {
        b.kernel("loss metric",
                 loss_metric(tokens, vocab, head_.logits.dtype),
                 kElementwise,
                 {&head_.logits, &head_.labels},
                 {});
    }
}

Value ChunkLowering::head_backward(BlockBuilder& b, Deferred* deferred) {
    const std::int64_t tokens = b.local_tokens(head_.logits);
    const std::int64_t vocab = b.local_width(head_.logits);
    std::vector<const Value*> reads{&head_.labels, &head_.maximum, &head_.sum, &head_.target};
    if (!head_.probabilities.empty()) {
        reads.push_back(&head_.probabilities);
    }
    b.kernel("loss backward",
             cross_entropy_backward(tokens, vocab, head_.logits.dtype, fused_loss()),
             kElementwise,
             reads,
             {},
             {tables_.scalars()},
             {head_.logits.tensor});
    Parameter no_bias;
    const Value dn = column_backward(
        b, head_.norm, {{"logits", &head_.logits, &chunk_.output, &no_bias}}, deferred);
    return norm_backward(b, "final norm backward", dn, head_.before_norm, {}, chunk_.final_norm);
}

void ChunkLowering::forward() {
    BlockBuilder b = builder("forward");
    UnitWeights weights = unit_weights(b, UnitWeights::For::forward);
    ResidualStream stream;
    if (chunk_.shape.has_embedding) {
        weights.begin();
        stream.residual = embed(b);
        weights.end();
    } else {
        chunk_.input =
            b.value("stage input", model_.hidden_size, layouts_.pipeline, Lifetime::micro_batch);
        stream.residual = b.relayout(
            "stage input gather", chunk_.input, layouts_.residual, Lifetime::micro_batch);
    }
    for (std::size_t i = 0; i < chunk_.layers.size(); ++i) {
        weights.begin();
        const LayerRecompute recompute = recompute_of_layer(i);
        if (recompute.keeps_input()) {
            add_pending(b, stream, Lifetime::micro_batch);  // the checkpoint is one tensor
        }
        tapes_.push_back(layer_tape(model_,
                                    plan_,
                                    recompute,
                                    chunk_.layers[i],
                                    chunk_.shape.first_layer + static_cast<std::int64_t>(i)));
        tapes_.back().forward(b, stream);
        weights.end();
    }
    if (chunk_.shape.has_head) {
        weights.begin();
        head(b, stream);
        weights.end();
    } else {
        add_pending(b, stream, Lifetime::micro_batch);
        chunk_.output_value = b.relayout("stage output", stream.residual, layouts_.pipeline);
        b.outlive_slot(chunk_.output_value);
    }
    chunk_.forward = b.ops.finish();
}

LayerRecompute ChunkLowering::recompute_of_layer(std::size_t i) const {
    return orrery::recompute_of_layer(
        plan_, static_cast<std::int64_t>(i), std::ssize(chunk_.layers));
}

// The layers of a unit that full recomputation runs again, before the backward pass of the last.
void ChunkLowering::run_unit_again(BlockBuilder& b, std::size_t last) {
    LayerRecompute recompute = recompute_of_layer(last);
    if (!recompute.whole || !recompute.ends_unit) {
        return;
    }
    std::size_t first = last;
    while (!recompute.begins_unit) {
        recompute = recompute_of_layer(--first);
    }
    ResidualStream stream = tapes_[first].input();
    for (std::size_t i = first; i <= last; ++i) {
        tapes_[i].run_again(b, stream);
    }
    b.recomputing = true;
    add_pending(b, stream, Lifetime::slot);
    b.recomputing = false;
}

void ChunkLowering::backward() {
    BlockBuilder b = builder(chunk_.splits_backward ? "backward input" : "backward");
    std::vector<Deferred> later(sets().size());
    std::size_t set = later.size();
    UnitWeights weights = unit_weights(b, UnitWeights::For::backward);
    const auto begin = [&] {
        --set;
        weights.begin();
    };
    const auto deferred = [&] { return chunk_.splits_backward ? &later[set] : nullptr; };
    const auto end = [&] { weights.end(parameters_of(later[set])); };
    Value d;
    if (chunk_.shape.has_head) {
        begin();
        d = head_backward(b, deferred());
        end();
    } else {
        chunk_.output_gradient = b.value(
            "stage output gradient", model_.hidden_size, layouts_.pipeline, Lifetime::micro_batch);
        d = b.relayout("stage output gradient gather", chunk_.output_gradient, layouts_.residual);
    }
    for (std::size_t i = chunk_.layers.size(); i-- > 0;) {
        begin();
        run_unit_again(b, i);
        d = tapes_[i].backward(b, d, deferred());
        end();
    }
    if (chunk_.shape.has_embedding) {
        begin();
        embed_backward(b, d);
        end();
    } else {
        chunk_.input_gradient = b.relayout("stage input gradient", d, layouts_.pipeline);
        b.outlive_slot(chunk_.input_gradient);
    }
    chunk_.backward = b.ops.finish();
    if (chunk_.splits_backward) {
        weight_gradients(later);
    }
}

void ChunkLowering::weight_gradients(const std::vector<Deferred>& later) {
    BlockBuilder b = builder("backward weight");
    for (std::size_t set = later.size(); set-- > 0;) {
        for (const DeferredProducts& products : later[set]) {
            products.run(b);
        }
        reduce_to_shards(b, parameters_of(later[set]));
    }
    chunk_.backward_weight = b.ops.finish();
}

}  // namespace

std::unique_ptr<Chunk> lower_chunk(ProgramTables& tables,
                                   const Transformer& model,
                                   const ParallelPlan& plan,
                                   const LayoutAssignment& layouts,
                                   const ChunkShape& shape,
                                   const Chunk* tied) {
    auto chunk = std::make_unique<Chunk>();
    chunk->shape = shape;
    chunk->splits_backward = plan.schedule == ScheduleKind::zero_bubble;
    create_parameters(tables, model, layouts, tied, *chunk);
    ChunkLowering lowering{tables, model, plan, layouts, *chunk};
    lowering.forward();
    lowering.backward();
    return chunk;
}

}  // namespace orrery
