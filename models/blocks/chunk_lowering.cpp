// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/chunk_lowering.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "kernels/elementwise/elementwise.h"
#include "kernels/residual/residual.h"
#include "models/blocks/activation_offload.h"
#include "models/blocks/fused_experts.h"
#include "models/blocks/head_lowering.h"
#include "models/blocks/input_embedding.h"
#include "models/blocks/layer_nodes.h"
#include "models/blocks/parameters.h"
#include "models/blocks/unit_weights.h"
#include "models/schedule/schedule.h"
#include "models/segments/quantised_operands.h"

namespace orrery {
namespace {

constexpr auto kElementwise = Cause::memory_bound_kernels;

// The parameters whose gradients are deferred.
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
                  Chunk& chunk,
                  const Chunk* before)
        : tables_(tables),
          model_(model),
          plan_(plan),
          layouts_(layouts),
          chunk_(chunk),
          before_(before) {}

    void forward();
    // `splits`: weight gradients are deferred to a segment of their own.
    SegmentId backward(bool splits);

private:
    BlockBuilder builder(std::string_view pass) {
        return {tables_,
                model_,
                plan_,
                layouts_,
                fmt::format("stage {} chunk {} {}", chunk_.shape.stage, chunk_.shape.chunk, pass)};
    }
    LayerPlace place(const BlockBuilder& b) const {
        return {b.ops.size(), static_cast<std::uint32_t>(tables_.program().tensors.size())};
    }
    // Sets of parameters that are used at the same time, in forward order: the embedding, each
    // layer, the head.
    std::vector<ParameterSet> sets();
    UnitWeights unit_weights(BlockBuilder& b, UnitWeights::For pass);
    // The model's head, and the modules after the last layer, each with a loss of its own.
    void heads(BlockBuilder& b, UnitWeights& weights, ResidualStream& stream);
    // The gradient of the stream after the last layer.
    Value heads_backward(BlockBuilder& b,
                         const std::function<void()>& begin,
                         const std::function<Deferred*()>& deferred,
                         const std::function<void()>& end);
    LayerRecompute recompute_of_layer(std::size_t i) const;
    void run_unit_again(BlockBuilder& b, std::size_t last);
    void keep_input(BlockBuilder& b, std::size_t layer, const Value& input);
    // Whether ranks keep a part of the output each (plan.partition_pipeline_outputs).
    bool parts_output() const {
        return plan_.partition_pipeline_outputs && layouts_.pipeline != layouts_.residual;
    }
    Value stage_output(BlockBuilder& b, const Value& stream);
    // The outputs that live until a backward pass ends; parts of them are gathered.
    std::vector<TensorId> kept_outputs(BlockBuilder& b);
    // Makes `d` the chunk's input gradient. Other segments may already use that tensor.
    void leave_input_gradient(BlockBuilder& b, const Value& d);
    // Makes the segment of the deferred weight gradients, by unit.
    void weight_gradients(const std::vector<Deferred>& later);

    ProgramTables& tables_;
    const Transformer& model_;
    const ParallelPlan& plan_;
    const LayoutAssignment& layouts_;
    Chunk& chunk_;
    const Chunk* before_;                             // on the same stage
    std::vector<Tape> tapes_;                         // of the layers
    std::map<std::size_t, Value> kept_inputs_;        // by layer, for recomputation
    std::map<std::size_t, TensorId> inputs_on_host_;  // of these
    std::vector<TensorId> held_;                      // by a reentrant checkpoint
    std::vector<LayerOnHost> layers_on_host_;         // the first ones
    struct Prediction {
        Tape input{Lifetime::micro_batch};
        Tape layer{Lifetime::micro_batch};
        Head head;
    };
    std::vector<Prediction> predictions_;
    Head head_;
    NormActivations before_norm_;  // a final norm without a head
    Deferred delayed_;  // products that plan.delay_wgrad_compute defers to the next exchange
    InputEmbedding embedding_;
};

std::vector<ParameterSet> ChunkLowering::sets() {
    std::vector<ParameterSet> all;
    const auto add = [&](ParameterSet set) {
        std::erase_if(set, [](const Parameter* p) { return p->elements == 0; });
        all.push_back(std::move(set));
    };
    if (chunk_.shape.has_embedding) {
        add({&chunk_.embedding, &chunk_.embedding_norm, &chunk_.position});
    }
    for (LayerParameters& layer : chunk_.layers) {
        add(layer.present());
    }
    for (PredictionParameters& prediction : chunk_.predictions) {
        add(prediction.present());
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

// Each module reads the stream of the previous one.
void ChunkLowering::heads(BlockBuilder& b, UnitWeights& weights, ResidualStream& stream) {
    if (!chunk_.predictions.empty()) {
        add_pending(b, stream, Lifetime::micro_batch);
    }
    std::vector<ResidualStream> streams;
    predictions_.resize(chunk_.predictions.size());
    for (std::size_t i = 0; i < predictions_.size(); ++i) {
        PredictionParameters& p = chunk_.predictions[i];
        const auto number = static_cast<std::int64_t>(i);
        weights.begin();
        predictions_[i].input.add<PredictionInputNode>(
            p, chunk_.shape.has_embedding ? chunk_.embedding : p.embedding, number);
        ResidualStream own = i == 0 ? stream : streams.back();
        predictions_[i].input.forward(b, own);
        predictions_[i].layer =
            layer_tape(model_, plan_, recompute_of_layer(0), p.layer, model_.num_layers + number);
        predictions_[i].layer.forward(b, own);
        add_pending(b, own, Lifetime::micro_batch);
        streams.push_back(std::move(own));
        weights.end();
    }
    weights.begin();
    head_.forward(b, stream, chunk_.final_norm, chunk_.output);
    for (std::size_t i = 0; i < predictions_.size(); ++i) {
        predictions_[i].head.forward(
            b, streams[i], chunk_.predictions[i].final_norm, chunk_.output);
    }
    weights.end();
}

Value ChunkLowering::heads_backward(BlockBuilder& b,
                                    const std::function<void()>& begin,
                                    const std::function<Deferred*()>& deferred,
                                    const std::function<void()>& end) {
    const auto add = [&](const Value& sum, const Value& more) {
        b.kernel("prediction gradient add",
                 residual_add(b.local_tokens(sum), model_.hidden_size, sum.dtype),
                 kElementwise,
                 {&more},
                 {},
                 {},
                 {sum.tensor});
    };
    begin();
    std::vector<Value> gradients;
    for (std::size_t i = 0; i < predictions_.size(); ++i) {
        gradients.push_back(predictions_[i].head.backward(
            b, chunk_.predictions[i].final_norm, chunk_.output, deferred()));
    }
    const Value d = head_.backward(b, chunk_.final_norm, chunk_.output, deferred());
    end();
    Value later;  // from the following module
    for (std::size_t i = predictions_.size(); i-- > 0;) {
        begin();
        if (!later.empty()) {
            add(gradients[i], later);
        }
        if (recompute_of_layer(0).whole.again) {
            ResidualStream again = predictions_[i].layer.input();
            predictions_[i].layer.run_again(b, again, true);
        }
        later = predictions_[i].layer.backward(b, gradients[i], deferred());
        later = predictions_[i].input.backward(b, later, deferred());
        end();
    }
    if (!later.empty()) {
        add(d, later);
    }
    return d;
}

void ChunkLowering::forward() {
    BlockBuilder b = builder("forward");
    UnitWeights weights = unit_weights(b, UnitWeights::For::forward);
    ResidualStream stream;
    if (chunk_.shape.has_embedding) {
        weights.begin();
        stream.residual = embedding_.forward(b, chunk_);
        weights.end();
    } else {
        chunk_.input =
            before_ != nullptr
                ? before_->output_value
                : b.value(
                      "stage input", model_.hidden_size, layouts_.pipeline, Lifetime::micro_batch);
        stream.residual = b.relayout(
            "stage input gather", chunk_.input, layouts_.residual, Lifetime::micro_batch);
    }
    for (std::size_t i = 0; i < chunk_.layers.size(); ++i) {
        chunk_.forward_layers.push_back(place(b));
        weights.begin();
        const LayerRecompute recompute = recompute_of_layer(i);
        if (recompute.keeps_input()) {
            add_pending(b, stream, Lifetime::micro_batch);  // the checkpoint is one tensor
            keep_input(b, i, stream.residual);
        }
        tapes_.push_back(layer_tape(model_,
                                    plan_,
                                    recompute,
                                    chunk_.layers[i],
                                    chunk_.shape.first_layer + static_cast<std::int64_t>(i)));
        tapes_.back().forward(b, stream);
        if (std::cmp_less(i, plan_.cpu_offloading_num_layers)) {
            layers_on_host_.push_back(
                copy_layer_to_host(b, chunk_.forward_layers.back().tensor, stream));
        }
        weights.end();
    }
    chunk_.forward_layers.push_back(place(b));
    if (chunk_.shape.has_head) {
        heads(b, weights, stream);
    } else if (chunk_.shape.has_final_norm) {
        constexpr Lifetime kKept = Lifetime::micro_batch;
        chunk_.output_value =
            norm_forward(b, "final norm", stream, chunk_.final_norm, {kKept, kKept}, before_norm_);
        b.outlive_slot(chunk_.output_value);
    } else {
        add_pending(b, stream, Lifetime::micro_batch);
        chunk_.output_value = stage_output(b, stream.residual);
        b.outlive_slot(chunk_.output_value);
    }
    chunk_.forward = b.ops.finish();
}

LayerRecompute ChunkLowering::recompute_of_layer(std::size_t i) const {
    return orrery::recompute_of_layer(
        plan_, static_cast<std::int64_t>(i), std::ssize(chunk_.layers));
}

void ChunkLowering::keep_input(BlockBuilder& b, std::size_t layer, const Value& input) {
    const bool of_other_slots = input.tensor == chunk_.input.tensor && !chunk_.input.empty();
    const Value kept = kept_inputs_[layer] = kept_of_input(b, input, of_other_slots);
    if (input_is_offloaded(plan_, static_cast<std::int64_t>(layer))) {
        inputs_on_host_[layer] =
            copy_to_host(b, kept, of_other_slots && kept.tensor == input.tensor);
    }
}

// A part that is kept is a copy: the whole output is freed (pipe/engine.py, PartitionedTensor).
Value ChunkLowering::stage_output(BlockBuilder& b, const Value& stream) {
    if (!parts_output()) {
        return b.relayout("stage output", stream, layouts_.pipeline);
    }
    const Value part =
        b.value("stage output part", model_.hidden_size, layouts_.pipeline, Lifetime::micro_batch);
    b.kernel("stage output part",
             transpose(b.local_tokens(part), b.local_width(part), part.dtype),
             kElementwise,
             {&stream},
             {&part});
    return part;
}

std::vector<TensorId> ChunkLowering::kept_outputs(BlockBuilder& b) {
    const Value& kept = chunk_.output_value;
    if (plan_.deallocate_pipeline_outputs || kept.empty()) {
        return {};
    }
    const bool gathers = parts_output() && !chunk_.shape.has_final_norm;
    return {gathers ? b.relayout("stage output gather", kept, layouts_.residual).tensor
                    : kept.tensor};
}

// Runs the layers of a unit of full recomputation again, before the backward pass of the last one.
void ChunkLowering::run_unit_again(BlockBuilder& b, std::size_t last) {
    LayerRecompute recompute = recompute_of_layer(last);
    std::size_t first = last;
    while (!recompute.whole.begins_unit) {
        recompute = recompute_of_layer(--first);
    }
    ResidualStream stream = tapes_[first].input();
    stream.residual = kept_inputs_.at(first);
    if (const auto on_host = inputs_on_host_.find(first); on_host != inputs_on_host_.end()) {
        stream.residual = copy_from_host(b, stream.residual, on_host->second);
    }
    stream.residual = b.relayout("layer input gather", stream.residual, layouts_.residual);
    enter_checkpoint(b);
    for (std::size_t i = first; i <= last; ++i) {
        tapes_[i].run_again(b, stream, i == last);
    }
    b.recomputing = true;
    add_pending(b, stream, Lifetime::slot);
    b.recomputing = false;
    held_ = {stream.residual.tensor};
}

void ChunkLowering::leave_input_gradient(BlockBuilder& b, const Value& d) {
    const Value made = b.relayout("stage input gradient", d, layouts_.pipeline);
    if (chunk_.input_gradient.empty()) {
        chunk_.input_gradient = before_ != nullptr ? before_->output_gradient : made;
    }
    if (made.tensor != chunk_.input_gradient.tensor) {
        b.ops.rename(made.tensor, chunk_.input_gradient.tensor);
    }
    b.outlive_slot(chunk_.input_gradient);
}

SegmentId ChunkLowering::backward(bool splits) {
    BlockBuilder b = builder(splits ? "backward input" : "backward");
    chunk_.backward_layers.clear();
    std::vector<Deferred> later(sets().size());
    std::size_t set = later.size();
    UnitWeights weights = unit_weights(b, UnitWeights::For::backward);
    const auto begin = [&] {
        --set;
        weights.begin();
    };
    const auto deferred = [&] {
        return splits ? &later[set] : plan_.delay_wgrad_compute ? &delayed_ : nullptr;
    };
    const auto end = [&] { weights.end(parameters_of(later[set])); };
    Value d;
    const std::vector<TensorId> outputs = kept_outputs(b);
    if (chunk_.shape.has_head) {
        d = heads_backward(b, begin, deferred, end);
    } else if (chunk_.shape.has_final_norm) {
        chunk_.output_gradient = b.value(
            "loss input gradient", model_.hidden_size, layouts_.residual, Lifetime::micro_batch);
        d = norm_backward(
            b, "final norm backward", chunk_.output_gradient, before_norm_, {}, chunk_.final_norm);
    } else {
        if (chunk_.output_gradient.empty()) {
            chunk_.output_gradient = b.value("stage output gradient",
                                             model_.hidden_size,
                                             layouts_.pipeline,
                                             Lifetime::micro_batch);
        }
        d = b.relayout("stage output gradient gather", chunk_.output_gradient, layouts_.residual);
    }
    for (std::size_t i = chunk_.layers.size(); i-- > 0;) {
        chunk_.backward_layers.push_back(place(b));
        begin();
        if (i > 0 && i - 1 < layers_on_host_.size()) {
            copy_layer_from_host(b, layers_on_host_[i - 1]);
        }
        if (recompute_of_layer(i).whole.ends_unit) {
            run_unit_again(b, i);
            held_.push_back(d.tensor);
            weights.gather_again();
        }
        d = tapes_[i].backward(b, d, deferred());
        if (recompute_of_layer(i).whole.begins_unit && plan_.reentrant_checkpoint) {
            hold_until_here(b, "checkpoint returns", held_);
        }
        end();
    }
    chunk_.backward_layers.push_back(place(b));
    if (chunk_.shape.has_embedding) {
        begin();
        embedding_.backward(b, chunk_, d);
        end();
    } else {
        leave_input_gradient(b, d);
    }
    run_delayed(b, delayed_);
    if (!outputs.empty()) {
        hold_until_here(b, "stage output freed", outputs);
    }
    const SegmentId segment = b.ops.finish();
    if (splits) {
        weight_gradients(later);
    }
    return segment;
}

void ChunkLowering::weight_gradients(const std::vector<Deferred>& later) {
    BlockBuilder b = builder("backward weight");
    // The first set is that of the embedding and the last one that of the head, if the chunk has
    // them.
    const std::size_t first = chunk_.shape.has_embedding ? 1 : 0;
    for (std::size_t set = later.size(); set-- > 0;) {
        if (set + 1 >= first && set < first + chunk_.layers.size()) {
            chunk_.weight_layers.push_back(place(b));
        }
        for (const DeferredProducts& products : later[set]) {
            products.run(b);
        }
        reduce_to_shards(b, parameters_of(later[set]));
    }
    if (first == 0) {
        chunk_.weight_layers.push_back(place(b));
    }
    chunk_.backward_weight = b.ops.finish();
}

}  // namespace

std::unique_ptr<Chunk> lower_chunk(ProgramTables& tables,
                                   const Transformer& model,
                                   const ParallelPlan& plan,
                                   const LayoutAssignment& layouts,
                                   const ChunkShape& shape,
                                   const ChunkNeighbours& neighbours) {
    auto chunk = std::make_unique<Chunk>();
    chunk->shape = shape;
    const bool splits_some = placement_of(plan.schedule) != ChunkPlacement::looping;
    chunk->splits_backward = splits_some || plan.schedule == ScheduleKind::zero_bubble;
    create_parameters(tables, model, layouts, neighbours.tied, *chunk);
    create_router_states(tables, model, plan, layouts, *chunk);
    ChunkLowering lowering{tables, model, plan, layouts, *chunk, neighbours.before};
    lowering.forward();
    chunk->backward = lowering.backward(chunk->splits_backward);
    if (splits_some) {
        chunk->backward_whole = lowering.backward(false);
    }
    std::vector<SegmentId> backward{chunk->backward};
    if (chunk->backward_whole) {
        backward.push_back(*chunk->backward_whole);
    }
    if (chunk->splits_backward) {
        backward.push_back(chunk->backward_weight);
    }
    free_copied_inputs(tables, backward);
    return chunk;
}

}  // namespace orrery
