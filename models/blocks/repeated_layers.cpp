// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/repeated_layers.h"

#include <array>
#include <map>
#include <optional>
#include <span>

#include "engine/base/check.h"
#include "models/blocks/parameters.h"
#include "models/plan/recomputation.h"

namespace orrery {
namespace {

constexpr std::uint32_t kFew = kFewLayers;
// The position, in the order of a pass, of the layer that stands for all middle layers. This layer
// and the one before it have neighbours of the same kind. The chunk's input is the residual stream
// of its first two layers.
constexpr std::uint32_t kMiddle = 3;
constexpr std::uint32_t kNoNumber = UINT32_MAX;

// Kinds of tensors of a layer: its parameters, and the results of each pass.
enum TensorFamily : std::uint8_t { kParameters, kForward, kBackward, kWeight, kNumFamilies };

// A tensor of the few layers. It belongs to a layer, or to none (kNumFamilies).
struct LayerTensor {
    std::uint8_t family = kNumFamilies;
    std::uint32_t layer = 0;
    // Distance from the layer's first parameter, or from the end of the pass's tensors for the
    // layer, because the first layer of a pass may have fewer tensors at its beginning.
    std::uint32_t offset = 0;
};

// A pass: the places of its layers, in the order of the pass.
struct LayerPass {
    SegmentId segment{};
    const std::vector<LayerPlace>* places = nullptr;
    bool ascending = true;  // the first layer first
};

class LayerRepeater {
public:
    LayerRepeater(const Program& from, Chunk& few, Program& to, Chunk& many)
        : from_(from),
          few_(few),
          to_(to),
          many_(many),
          more_(static_cast<std::uint32_t>(many.shape.num_layers) - kFew) {}

    bool repeat() {
        find_tensors();
        find_kept();
        to_.groups = from_.groups;
        to_.kernels = from_.kernels;
        to_.collectives = from_.collectives;
        to_.send_recvs = from_.send_recvs;
        to_.copies = from_.copies;
        to_.host_works = from_.host_works;
        many_.forward = copy({few_.forward, &few_.forward_layers, true});
        many_.backward = copy({few_.backward, &few_.backward_layers, false});
        if (many_.splits_backward) {
            many_.backward_weight = copy({few_.backward_weight, &few_.weight_layers, false});
        }
        if (!repeats_) {
            return false;
        }
        copy_parameters();
        for (Value Chunk::*value : kBoundaryValues) {
            many_.*value = few_.*value;
            if (!(few_.*value).empty()) {
                (many_.*value).tensor = tensor((few_.*value).tensor, std::nullopt, 0);
            }
        }
        return true;
    }

private:
    static constexpr Value Chunk::*kBoundaryValues[] = {
        &Chunk::input, &Chunk::output_value, &Chunk::input_gradient, &Chunk::output_gradient};

    // --- tensors ---

    void find_tensors() {
        first_parameter_ = static_cast<std::uint32_t>(index(few_.layers[0].norm1.stored));
        parameters_of_layer_ =
            static_cast<std::uint32_t>(index(few_.layers[1].norm1.stored)) - first_parameter_;
        num_parameters_ =
            static_cast<std::uint32_t>(to_.tensors.size()) - more_ * parameters_of_layer_;
        tensors_.resize(from_.tensors.size());
        kept_.assign(from_.tensors.size(), false);
        sources_.assign(from_.tensors.size(), kNoNumber);
        for (std::uint32_t t = 0; t < kFew * parameters_of_layer_; ++t) {
            tensors_[first_parameter_ + t] = {
                kParameters, t / parameters_of_layer_, t % parameters_of_layer_};
        }
        const std::array passes{&few_.forward_layers, &few_.backward_layers, &few_.weight_layers};
        for (std::uint8_t family = kForward; family < kNumFamilies; ++family) {
            const std::vector<LayerPlace>& places = *passes[family - 1U];
            if (places.empty()) {
                continue;
            }
            ORRERY_CHECK(places.size() == kFew + 1);
            for (std::uint32_t k = 0; k < kFew; ++k) {
                const std::uint32_t layer = family == kForward ? k : kFew - 1 - k;
                for (std::uint32_t t = places[k].tensor; t < places[k + 1].tensor; ++t) {
                    tensors_[t] = {family, layer, places[k + 1].tensor - t};
                }
            }
        }
    }

    // Tensors that another slot may wait for.
    void find_kept() {
        std::vector<std::uint32_t> streams(from_.tensors.size(), 0);
        const auto add = [&](SegmentId segment) {
            for (const Op& op : from_.segments[index(segment)].ops) {
                for (const Operand& operand : operands_of(op)) {
                    streams[index(operand.tensor)] |= 1u << index(op.stream);
                }
            }
        };
        add(few_.forward);
        add(few_.backward);
        if (few_.splits_backward) {
            add(few_.backward_weight);
        }
        for (std::size_t t = 0; t < kept_.size(); ++t) {
            const bool of_several = (streams[t] & (streams[t] - 1)) != 0;
            kept_[t] =
                t < num_parameters_ || (of_several && from_.tensors[t].lifetime != Lifetime::slot);
        }
        for (Value Chunk::*value : kBoundaryValues) {
            if (!(few_.*value).empty()) {
                kept_[index((few_.*value).tensor)] = true;
            }
        }
    }

    std::span<const Operand> operands_of(const Op& op) const {
        return std::span{from_.operands}.subspan(op.first_operand, op.num_operands);
    }

    std::uint32_t layers() const { return kFew + more_; }
    std::uint32_t layer_behind(std::uint32_t layer) const {
        return layer < kMiddle ? layer : layer + more_;
    }

    // The tensor of the many layers for an op that stands `later` layers after an op of `layer` (of
    // the few). Without a layer: for an op before or after all layers.
    TensorId tensor(TensorId id, std::optional<std::uint32_t> layer, std::uint32_t later) {
        const auto t = static_cast<std::uint32_t>(index(id));
        const LayerTensor& place = tensors_[t];
        if (place.family == kNumFamilies) {
            if (t < num_parameters_) {
                const bool behind = t > first_parameter_;
                return to_id<TensorId>(t + (behind ? more_ * parameters_of_layer_ : 0));
            }
            return numbered(t, 0);
        }
        if (layer) {
            const std::uint32_t apart =
                *layer > place.layer ? *layer - place.layer : place.layer - *layer;
            repeats_ = repeats_ && apart <= 1;
        }
        const std::uint32_t of_layer = layer ? place.layer + later : layer_behind(place.layer);
        if (place.family == kParameters) {
            return to_id<TensorId>(first_parameter_ + of_layer * parameters_of_layer_ +
                                   place.offset);
        }
        return numbered(t, of_layer);
    }

    // Tensors at the same place of several layers have the same source.
    std::uint32_t source_of_tensor(std::uint32_t t) {
        if (sources_[t] == kNoNumber) {
            const LayerTensor& place = tensors_[t];
            const auto next = static_cast<std::uint32_t>(numbers_.size()) / layers();
            const std::uint32_t alone = place.family == kNumFamilies ? t : 0;
            const auto [known, added] =
                known_.try_emplace({place.family, place.offset, alone}, next);
            sources_[t] = known->second;
            numbers_.resize(numbers_.size() + (added ? layers() : 0), kNoNumber);
        }
        return sources_[t];
    }

    TensorId numbered(std::uint32_t t, std::uint32_t layer) {
        const std::size_t place = std::size_t{source_of_tensor(t)} * layers() + layer;
        if (numbers_[place] == kNoNumber) {
            numbers_[place] = static_cast<std::uint32_t>(to_.tensors.size());
            to_.tensors.emplace_back().lifetime = from_.tensors[t].lifetime;
        }
        return to_id<TensorId>(numbers_[place]);
    }

    // --- ops ---

    // The layer of the few that stands for the k-th layer of the many, in the order of a pass.
    std::uint32_t source_of(std::uint32_t k) const {
        return k < kMiddle ? k : k > kMiddle + more_ ? k - more_ : kMiddle;
    }

    SegmentId copy(const LayerPass& pass) {
        const std::vector<Op>& ops = from_.segments[index(pass.segment)].ops;
        const std::vector<LayerPlace>& places = *pass.places;
        check_middle(ops, places);
        begins_.clear();
        std::uint32_t begin = places.front().op;
        for (std::uint32_t k = 0; k < layers(); ++k) {
            begins_.push_back(begin);
            begin += places[source_of(k) + 1].op - places[source_of(k)].op;
        }
        begins_.push_back(begin);
        Segment& out = to_.segments.emplace_back();
        out.ops.reserve(begin + ops.size() - places.back().op);
        for (std::uint32_t o = 0; o < places.front().op; ++o) {
            add(out, ops[o], std::nullopt, 0, [](std::uint32_t wait) { return wait; });
        }
        for (std::uint32_t k = 0; k < layers(); ++k) {
            const std::uint32_t source = source_of(k);
            const std::uint32_t layer = pass.ascending ? source : kFew - 1 - source;
            const std::uint32_t new_layer = pass.ascending ? k : layers() - 1 - k;
            const auto wait_of = [&](std::uint32_t wait) {
                return moved(wait, places, k - source);
            };
            for (std::uint32_t o = places[source].op; o < places[source + 1].op; ++o) {
                add(out, ops[o], layer, new_layer - layer, wait_of);
            }
        }
        const auto behind = [&](std::uint32_t wait) { return moved(wait, places, std::nullopt); };
        for (std::uint32_t o = places.back().op; o < ops.size(); ++o) {
            add(out, ops[o], std::nullopt, 0, behind);
        }
        return to_id<SegmentId>(to_.segments.size() - 1);
    }

    // The position among the many layers of an awaited op of the few, for an op `later` layers
    // after, or after all layers.
    std::uint32_t moved(std::uint32_t wait,
                        const std::vector<LayerPlace>& places,
                        std::optional<std::uint32_t> later) const {
        if (wait < places.front().op) {
            return wait;
        }
        if (wait >= places.back().op) {
            return wait - places.back().op + begins_.back();
        }
        std::uint32_t k = 0;
        while (wait >= places[k + 1].op) {
            ++k;
        }
        return wait - places[k].op + begins_[later ? k + *later : layer_behind(k)];
    }

    template <class WaitOf>
    void add(Segment& out,
             const Op& op,
             std::optional<std::uint32_t> layer,
             std::uint32_t later,
             WaitOf wait_of) {
        Op& copied = out.ops.emplace_back(op);
        copied.name = 0;
        copied.first_wait = static_cast<std::uint32_t>(to_.waits.size());
        for (std::uint32_t w = 0; w < op.num_waits; ++w) {
            to_.waits.push_back(wait_of(from_.waits[op.first_wait + w]));
        }
        copied.first_operand = static_cast<std::uint32_t>(to_.operands.size());
        for (const Operand& operand : operands_of(op)) {
            if (kept_[index(operand.tensor)]) {
                Operand& kept = to_.operands.emplace_back(operand);
                kept.tensor = tensor(operand.tensor, layer, later);
            }
        }
        copied.num_operands =
            static_cast<std::uint32_t>(to_.operands.size()) - copied.first_operand;
    }

    // The middle layer must do the same as the previous layer, with tensors one layer apart.
    void check_middle(const std::vector<Op>& ops, const std::vector<LayerPlace>& places) {
        const LayerPlace& before = places[kMiddle - 1];
        const LayerPlace& middle = places[kMiddle];
        const std::uint32_t count = middle.op - before.op;
        repeats_ = repeats_ && count == places[kMiddle + 1].op - middle.op;
        for (std::uint32_t o = 0; repeats_ && o < count; ++o) {
            repeats_ = alike(ops[before.op + o], ops[middle.op + o], count);
        }
    }

    bool alike(const Op& a, const Op& b, std::uint32_t ops_apart) const {
        if (a.payload != b.payload || a.stream != b.stream || a.launches != b.launches ||
            a.num_waits != b.num_waits || a.num_operands != b.num_operands) {
            return false;
        }
        for (std::uint32_t w = 0; w < a.num_waits; ++w) {
            if (from_.waits[a.first_wait + w] + ops_apart != from_.waits[b.first_wait + w]) {
                return false;
            }
        }
        const std::span<const Operand> of_a = operands_of(a);
        const std::span<const Operand> of_b = operands_of(b);
        for (std::size_t i = 0; i < of_a.size(); ++i) {
            const LayerTensor& x = tensors_[index(of_a[i].tensor)];
            const LayerTensor& y = tensors_[index(of_b[i].tensor)];
            const bool kept = kept_[index(of_a[i].tensor)] || kept_[index(of_b[i].tensor)];
            const bool same_outside = x.family == kNumFamilies && of_a[i].tensor == of_b[i].tensor;
            const bool one_apart = x.family == y.family && x.family != kNumFamilies &&
                                   x.offset == y.offset &&
                                   (x.layer + 1 == y.layer || y.layer + 1 == x.layer);
            if (kept && !same_outside && !one_apart) {
                return false;
            }
        }
        return true;
    }

    // --- parameters ---

    void copy_parameters() {
        for (Parameter Chunk::*p : {&Chunk::embedding,
                                    &Chunk::embedding_norm,
                                    &Chunk::position,
                                    &Chunk::final_norm,
                                    &Chunk::output}) {
            (many_.*p).gradient_layout = (few_.*p).gradient_layout;
        }
        for (std::uint32_t i = 0; i < many_.layers.size(); ++i) {
            const std::vector<Parameter*> source = few_.layers[source_of(i)].present();
            const std::vector<Parameter*> of_layer = many_.layers[i].present();
            ORRERY_CHECK(source.size() == of_layer.size());
            for (std::size_t p = 0; p < source.size(); ++p) {
                of_layer[p]->gradient_layout = source[p]->gradient_layout;
            }
        }
    }

    const Program& from_;
    Chunk& few_;
    Program& to_;
    Chunk& many_;
    std::uint32_t more_;                     // number of additional layers
    std::uint32_t first_parameter_ = 0;      // tensor of the first layer
    std::uint32_t parameters_of_layer_ = 0;  // number of tensors
    std::uint32_t num_parameters_ = 0;       // number of tensors of all parameters of the few
    std::vector<LayerTensor> tensors_;       // by tensor of the few
    std::vector<bool> kept_;                 // by tensor of the few
    std::map<std::array<std::uint32_t, 3>, std::uint32_t> known_;  // sources by place
    std::vector<std::uint32_t> sources_;  // by tensor of the few; filled on demand
    std::vector<std::uint32_t> numbers_;  // tensors of the many, by source and layer
    std::vector<std::uint32_t> begins_;   // ops of the many, by layer in the order of the pass
    bool repeats_ = true;
};

}  // namespace

bool layers_are_alike(const Transformer& model, const ParallelPlan& plan) {
    return model.sliding_window == 0 && model.linear_attention_every <= 1 &&
           model.num_experts == 0 && layers_recompute_alike(plan) && !plan.shards_weights();
}

std::unique_ptr<Chunk> repeat_layers(ProgramTables& tables,
                                     const Transformer& model,
                                     const LayoutAssignment& layouts,
                                     const ChunkShape& shape,
                                     const Program& program,
                                     Chunk& few) {
    ORRERY_CHECK(std::ssize(few.layers) == kFewLayers && shape.num_layers > kFewLayers);
    auto many = std::make_unique<Chunk>();
    many->shape = shape;
    many->splits_backward = few.splits_backward;
    create_parameters(tables, model, layouts, nullptr, *many);
    LayerRepeater repeater{program, few, tables.program(), *many};
    return repeater.repeat() ? std::move(many) : nullptr;
}

}  // namespace orrery
