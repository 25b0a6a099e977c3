// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/unit_weights.h"

#include <algorithm>

#include "engine/base/check.h"
#include "kernels/cast/cast.h"
#include "kernels/optimizer/optimizer.h"
#include "models/blocks/gradient_copies.h"
#include "models/blocks/listed_moves.h"
#include "models/blocks/quantised_moves.h"
#include "models/blocks/released_weights.h"
#include "models/segments/relayout.h"

namespace orrery {
namespace {

// The number of buffers in the host's memory for weights from drives, minus one.
constexpr std::size_t kHostAhead = 2;

// The number of a rank's elements of these parameters in a layout of the state. Each parameter's
// shard is padded separately.
auto elements_of(const BlockBuilder& b, const ParameterSet& parameters) {
    return [&b, parameters](const Layout& layout) {
        std::int64_t elements = 0;
        for (const Parameter* p : parameters) {
            elements += local_elements({p->elements}, layout, b.layouts.mesh);
        }
        return elements;
    };
}

enum class Moved : std::uint8_t { weights, gradients };

// The sets of parameters that one collective moves each: all of a unit, experts separate, or one.
// Parameters that persist whole are left out, unless their gradients leave the device.
std::vector<ParameterSet> collectives_of(const BlockBuilder& b,
                                         const ParameterSet& parameters,
                                         Moved what) {
    std::vector<ParameterSet> sets;
    for (const bool experts : {false, true}) {
        ParameterSet alike;
        for (Parameter* p : parameters) {
            const StateLayouts& state = state_of(b.layouts, *p);
            const bool some = what == Moved::weights ? state.by_unit() : state.gradients_by_unit();
            if (p->of_experts() != experts || !some) {
                continue;
            }
            alike.push_back(p);
            if (b.plan.fsdp_unit_layers == 0 && !stays_whole(b, *p)) {
                sets.push_back(std::move(alike));
                alike.clear();
            }
        }
        if (!alike.empty()) {
            sets.push_back(std::move(alike));
        }
    }
    return sets;
}

// The number of ranks that share the parameters' gathered or reduced tensors.
std::int64_t ranks_of_lists(const BlockBuilder& b, const ParameterSet& parameters) {
    const StateLayouts& state = state_of(b.layouts, *parameters.front());
    std::int64_t ranks = 1;
    for (const RelayoutStep& step :
         relayout_steps(state.weights, state.whole, elements_of(b, parameters))) {
        ranks *= b.layouts.mesh.combined_size(step.step.digits);
    }
    return ranks;
}

// The gradients of one micro-batch between two steps of their reduction.
TensorId scattered_gradients(BlockBuilder& b,
                             const StateLayouts& state,
                             const RelayoutStep& step,
                             std::int64_t elements) {
    return b.ops.tables().communication_buffer(
        "gradients scattered", state.gradient_dtype, step.to, elements);
}

// With one rank, the gradients of a pass are already reduced: they are the sum, or are added to it.
TensorId added_to(BlockBuilder& b, const ParameterSet& parameters, TensorId sum) {
    const std::int64_t elements = elements_of(b, parameters)(b.layouts.state.whole);
    const Dtype dtype = b.layouts.state.gradient_dtype;
    OpSpec spec = named("gradient accumulate");
    for (const Parameter* p : parameters) {
        spec.reads.push_back(p->gradient);
    }
    (b.plan.num_micro_batches() == 1 ? spec.writes : spec.accumulates) = {sum};
    b.ops.kernel(gradient_accumulate(elements, dtype, dtype), spec);
    return sum;
}

void reduce(BlockBuilder& b, const ParameterSet& parameters, OffloadedGradients* offloaded) {
    const StateLayouts& state = state_of(b.layouts, *parameters.front());
    const auto elements = elements_of(b, parameters);
    std::vector<TensorId> source;
    std::vector<TensorId> shards;
    for (const Parameter* p : parameters) {
        source.push_back(p->gradient);
        shards.push_back(p->gradient_shard);
    }
    if (moves_lists(b)) {
        list_gradients(b,
                       parameters,
                       {.elements = elements(state.whole), .ranks = ranks_of_lists(b, parameters)});
    }
    const std::int64_t reduced = elements(state.gradients);
    if (b.plan.gradient_bucket_copies &&
        !relayout_steps(state.made_gradients, state.gradients, elements).empty()) {
        source = b.plan.reduce_bucket_size > 0
                     ? bucketed_gradients(b, state, parameters)
                     : std::vector{copied_gradients(b, state, source, elements(state.whole))};
    }
    if (offloaded != nullptr) {
        shards = {offloaded->sum(parameters, reduced)};
        if (relayout_steps(state.made_gradients, state.gradients, elements).empty()) {
            offloaded->store(parameters, added_to(b, parameters, shards[0]), reduced);
            return;
        }
    }
    for (const RelayoutStep& step :
         relayout_steps(state.made_gradients, state.gradients, elements)) {
        OpSpec spec = named("gradients scatter");
        spec.reads = source;
        if (step.last) {
            spec.accumulates = shards;
        } else {
            source = {scattered_gradients(b, state, step, elements(step.to))};
            spec.writes = source;
        }
        if (reduces_quantised(b, *parameters.front()) &&
            step.step.kind == CollectiveKind::reduce_scatter) {
            reduce_quantised(b, step, parameters, spec);
            continue;
        }
        emit(b.ops, step, {.traffic = Traffic::data, .wire = state.gradient_dtype}, spec);
    }
    if (moves_lists(b)) {
        wait_for_list(b);
    }
    if (offloaded != nullptr) {
        offloaded->store(parameters, shards[0], reduced);
    }
}

TensorId weights_in_fp8(BlockBuilder& b,
                        std::string_view name,
                        const Layout& layout,
                        std::int64_t elements) {
    return b.ops.tables().communication_buffer(name, Dtype::fp8, layout, elements);
}

// Returns the gathered values, in one buffer.
TensorId gather_fp8(BlockBuilder& b,
                    const Layout& from,
                    const RelayoutStep& step,
                    const OpSpec& gather) {
    const StateLayouts& state = b.layouts.state;
    const std::int64_t members = b.layouts.mesh.combined_size(step.step.digits);
    const std::int64_t shard = step.elements / members;
    const TensorId encoded = weights_in_fp8(b, "weights quantised", from, shard);
    const TensorId gathered = weights_in_fp8(b, "weights gathered", step.to, step.elements);
    OpSpec spec = named("weights quantise");
    spec.reads = gather.reads;
    spec.writes = {encoded};
    b.ops.kernel(cast(shard, state.weight_dtype, Dtype::fp8), spec);
    spec = named("weights gather");
    spec.reads = {encoded};
    spec.writes = {gathered};
    emit(b.ops, step, {.traffic = Traffic::data, .wire = Dtype::fp8}, spec);
    return gathered;
}

// FP8 products read FP8 weights, and one pass needs a transposed copy of them. The copy is made
// when the unit is used. Earlier, the kernels of the unit in use would wait for the gather.
void transpose_weights(BlockBuilder& b, const ParameterSet& parameters, TensorId gathered) {
    OpSpec spec = named("weights transpose");
    spec.reads = {gathered};
    for (const Parameter* p : parameters) {
        spec.writes.push_back(p->weight);
    }
    const std::int64_t elements = elements_of(b, parameters)(b.layouts.state.whole);
    b.ops.kernel(cast(elements, Dtype::fp8, Dtype::fp8), spec);
}

// FP8 recipes apply only to the layers' products.
bool in_layer(const BlockBuilder& b, const ParameterSet& parameters) {
    return std::ranges::all_of(parameters, [&](const Parameter* p) {
        return p->layer >= 0 && p->layer < b.model.num_layers + b.model.mtp_num_layers;
    });
}

// Weights that were gathered in 16 bits are cast to FP8 before each use: after their maximum is
// known (tensorwise), or rows and columns separately. Delayed scaling casts them once a step,
// together with the optimizer's output (Transformer Engine keeps the cast weights from the first
// micro-batch on).
void cast_weights(BlockBuilder& b, UnitWeights::For pass, const ParameterSet& parameters) {
    const StateLayouts& state = b.layouts.state;
    const Fp8Recipe recipe = b.plan.fp8_recipe;
    if (b.plan.precision != Dtype::fp8 || recipe == Fp8Recipe::delayed ||
        state.gathered_weights.dtype == Dtype::fp8 || !in_layer(b, parameters)) {
        return;
    }
    const std::int64_t elements = elements_of(b, parameters)(state.whole);
    const TensorId quantised = weights_in_fp8(b, "weights in fp8", state.whole, elements);
    OpSpec spec = named("weights cast");
    for (const Parameter* p : parameters) {
        spec.reads.push_back(p->weight);
    }
    // The backward pass needs columns, whose maximum is over all rows.
    const bool of_columns = recipe == Fp8Recipe::rowwise && pass == UnitWeights::For::backward;
    if (recipe == Fp8Recipe::tensorwise || of_columns) {
        OpSpec maximum = spec;
        maximum.name = "weights maximum";
        maximum.writes = {quantised};
        b.ops.kernel(gradient_norm(elements, state.weight_dtype), maximum);
    }
    spec.writes = {quantised};
    b.ops.kernel(cast(elements, state.weight_dtype, Dtype::fp8), spec);
}

void copy_out(BlockBuilder& b, const ParameterSet& parameters) {
    if (!b.plan.fsdp_copy_out) {
        return;
    }
    const Dtype dtype =
        b.layouts.state.gathered_weights.dtype == Dtype::fp8 && in_layer(b, parameters)
            ? Dtype::fp8
            : b.layouts.state.weight_dtype;
    OpSpec spec = named("weights copy out");
    for (const Parameter* p : parameters) {
        spec.accumulates.push_back(p->weight);
    }
    b.ops.kernel(cast(elements_of(b, parameters)(b.layouts.state.whole), dtype, dtype), spec);
    if (moves_lists(b)) {
        for (const ParameterSet& moved : collectives_of(b, parameters, Moved::weights)) {
            list_weights(b,
                         moved,
                         {.elements = elements_of(b, moved)(b.layouts.state.whole),
                          .ranks = ranks_of_lists(b, moved)});
        }
    }
}

}  // namespace

UnitWeights::UnitWeights(BlockBuilder& b,
                         For pass,
                         std::vector<ParameterSet> sets,
                         std::vector<bool> layers)
    : b_(b), pass_(pass) {
    const StateLayouts& state = b.layouts.state;
    const bool gathers = state.by_unit() || b.layouts.expert_state.by_unit() ||
                         state.weights_tier != MemoryTier::hbm;
    if (!gathers && !state.gradients_by_unit()) {
        return;
    }
    const auto unit_layers =
        static_cast<std::size_t>(std::max<std::int64_t>(b.plan.fsdp_unit_layers, 1));
    for (std::size_t i = 0; i < sets.size(); ++i) {
        const bool joins = i > 0 && layers[i] && layers[i - 1] &&
                           units_.back().end - units_.back().first < unit_layers;
        if (!joins) {
            units_.push_back({.first = i, .end = i, .parameters = {}, .in_fp8 = {}});
        }
        Unit& unit = units_.back();
        unit.end = i + 1;
        unit.parameters.insert(unit.parameters.end(), sets[i].begin(), sets[i].end());
    }
    add_offloaded();
    gather(0);
    for (std::size_t ahead = 1; ahead < units_ahead(); ++ahead) {
        gather(ahead);
    }
}

void UnitWeights::add_offloaded() {
    const StateLayouts& state = b_.layouts.state;
    // Backward passes use the weights that forward passes have left on the device.
    const bool left = pass_ == For::backward && (state.keeps_secondary() || state.keeps_gathered());
    std::int64_t most = 0;
    std::vector<ParameterSet> fetched;
    for (const Unit& unit : units_) {
        std::int64_t elements = 0;
        for (const Parameter* p : unit.parameters) {
            elements +=
                local_elements({p->elements}, state_of(b_.layouts, *p).gradients, b_.layouts.mesh);
        }
        most = std::max(most, elements);
        fetched.push_back(unit.parameters);
    }
    if (state.weights_tier != MemoryTier::hbm && !left) {
        offloaded_weights_ = std::make_unique<OffloadedWeights>(b_, std::move(fetched), kHostAhead);
    }
    if (state.gradients_tier != MemoryTier::hbm && pass_ == For::backward) {
        offloaded_gradients_ = std::make_unique<OffloadedGradients>(b_, most);
    }
}

// Fetches one unit further ahead than the gathers, so that parts of a unit arrive while others
// travel between ranks. Drives are read yet another unit ahead (ZeRO-Infinity, section 6.2).
void UnitWeights::fetch(std::size_t unit) {
    if (!offloaded_weights_) {
        return;
    }
    const std::uint32_t after = ends_.empty() ? OffloadedWeights::kNone : ends_.back();
    const std::size_t further = units_ahead() > 0 ? 1 : 0;
    offloaded_weights_->read(unit + 1 + 2 * further);
    offloaded_weights_->fetch(unit + 1 + further, after);
}

std::size_t UnitWeights::units_ahead() const {
    return b_.plan.overlap_param_gather ? static_cast<std::size_t>(b_.plan.fsdp_prefetch_units) : 0;
}

// PyTorch's BACKWARD_POST saves memory, but nothing hides the gather.
bool UnitWeights::prefetches_behind() const {
    return pass_ == For::backward && b_.plan.prefetch_behind_backward;
}

void UnitWeights::gather(std::size_t unit) {
    if (unit >= units_.size() || unit < gathered_) {
        return;
    }
    ORRERY_CHECK(unit == gathered_);
    ++gathered_;
    fetch(unit);
    for (const ParameterSet& moved : collectives_of(b_, units_[unit].parameters, Moved::weights)) {
        gather_set(moved, units_[unit]);
    }
}

void UnitWeights::gather_set(const ParameterSet& moved, Unit& unit) {
    const StateLayouts& state = state_of(b_.layouts, *moved.front());
    const bool secondary = pass_ == For::backward && state.keeps_secondary();
    const Layout& from = pass_ == For::backward ? state.secondary_weights : state.weights;
    for (const RelayoutStep& step : relayout_steps(from, state.whole, elements_of(b_, moved))) {
        OpSpec spec = named("weights gather");
        for (const Parameter* p : moved) {
            spec.reads.push_back(secondary            ? p->secondary
                                 : offloaded_weights_ ? offloaded_weights_->part(*p)
                                                      : p->stored);
            spec.writes.push_back(p->weight);
        }
        // The copies of the units before the one in use must be free.
        if (!ends_.empty()) {
            b_.ops.next_waits_for(ends_.back());
        }
        const bool travels = state.gathered_weights.dtype != Dtype::fp8 || in_layer(b_, moved);
        if (state.gathered_weights.dtype == Dtype::int8) {
            gather_quantised(b_, from, step, moved, spec);
        } else if (state.quantises_weights() && travels) {
            unit.in_fp8.emplace_back(moved, gather_fp8(b_, from, step, spec));
        } else {
            emit(b_.ops, step, {.traffic = Traffic::data, .wire = state.weight_dtype}, spec);
        }
    }
}

void UnitWeights::gather_again() {
    if (units_.empty() || b_.layouts.state.keeps_gathered()) {
        return;
    }
    ParameterSet released = released_before_backward(b_.plan, unit_in_use().parameters);
    std::erase_if(released, [&](const Parameter* p) { return stays_whole(b_, *p); });
    const std::vector<ParameterSet> sets = collectives_of(b_, released, Moved::weights);
    if (sets.empty()) {
        return;
    }
    Unit again;
    const auto wait_unless_hidden = [&] {
        if (!b_.plan.overlap_param_gather) {
            b_.ops.next_waits_for(b_.ops.size() - 1);
        }
    };
    wait_unless_hidden();
    for (const ParameterSet& moved : sets) {
        gather_set(moved, again);
    }
    wait_unless_hidden();
    for (const auto& [parameters, gathered] : again.in_fp8) {
        transpose_weights(b_, parameters, gathered);
    }
    copy_out(b_, released);
}

// Keeps a rank's part of the gathered weights for the backward pass.
void UnitWeights::keep_secondary(const Unit& unit) {
    OpSpec spec = named("secondary weights");
    std::int64_t elements = 0;
    for (const Parameter* p : unit.parameters) {
        spec.reads.push_back(p->weight);
        spec.writes.push_back(p->secondary);
        elements +=
            local_elements({p->elements}, b_.layouts.state.secondary_weights, b_.layouts.mesh);
    }
    const Dtype dtype = b_.layouts.state.weight_dtype;
    b_.ops.kernel(cast(elements, dtype, dtype), spec);
}

void UnitWeights::begin() {
    if (units_.empty() || set_ != unit_in_use().first) {
        return;
    }
    gather(unit_);
    if (!prefetches_behind()) {
        gather(unit_ + units_ahead());
    }
    for (const auto& [parameters, gathered] : unit_in_use().in_fp8) {
        transpose_weights(b_, parameters, gathered);
    }
    if (pass_ == For::forward && b_.layouts.state.keeps_secondary()) {
        keep_secondary(unit_in_use());
    }
    const bool kept = pass_ == For::backward && b_.layouts.state.keeps_gathered();
    if (!kept && std::ranges::any_of(unit_in_use().parameters, &Parameter::gathered)) {
        copy_out(b_, unit_in_use().parameters);
        cast_weights(b_, pass_, unit_in_use().parameters);
    }
}

void UnitWeights::end(const ParameterSet& without) {
    later_.insert(later_.end(), without.begin(), without.end());
    ++set_;
    if (units_.empty() || set_ != unit_in_use().end) {
        return;
    }
    ends_.push_back(b_.ops.size() - 1);
    if (prefetches_behind()) {
        gather(unit_ + units_ahead());
    }
    if (pass_ == For::backward) {
        ParameterSet made = unit_in_use().parameters;
        std::erase_if(made, [&](Parameter* p) { return std::ranges::count(later_, p) > 0; });
        reduce_to_shards(b_, made, offloaded_gradients_.get());
    }
    later_.clear();
    ++unit_;
}

void reduce_to_shards(BlockBuilder& b,
                      const ParameterSet& parameters,
                      OffloadedGradients* offloaded) {
    const std::vector<ParameterSet> sets = collectives_of(b, parameters, Moved::gradients);
    for (ParameterSet moved : sets) {
        const auto others = std::stable_partition(
            moved.begin(), moved.end(), [&](Parameter* p) { return reduces_quantised(b, *p); });
        for (const ParameterSet& alike :
             {ParameterSet(moved.begin(), others), ParameterSet(others, moved.end())}) {
            if (!alike.empty()) {
                reduce(b, alike, offloaded);
            }
        }
    }
    if (!sets.empty() && !b.plan.overlap_grad_reduce) {
        b.ops.next_waits_for(b.ops.size() - 1);
    }
}

}  // namespace orrery
