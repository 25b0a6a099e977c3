// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/search/lowered_chunk.h"

#include <algorithm>

#include "models/blocks/repeated_layers.h"
#include "models/plan/plan_fields.h"
#include "models/plan/rank_mesh.h"
#include "models/segments/slot_waits.h"

namespace orrery {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

}  // namespace

ParallelPlan plan_of_passes(const ParallelPlan& plan) {
    ParallelPlan passes = within(plan, PlanScope::pass);
    if (plan.hsdp_shard_size == 0) {
        passes.data_parallel_size = std::min<std::int64_t>(plan.data_parallel_size, 2);
    }
    passes.pipeline_model_parallel_size =
        std::min<std::int64_t>(plan.pipeline_model_parallel_size, 2);
    passes.schedule = plan.schedule == ScheduleKind::zero_bubble ? ScheduleKind::zero_bubble
                                                                 : ScheduleKind::one_f_one_b;
    passes.global_batch_size = passes.micro_batch_size * passes.data_parallel_size;
    // Passes only communicate along digits before the pipeline's and the data digits.
    passes.rank_order = ParallelPlan{}.rank_order;
    return passes;
}

LoweredChunk::LoweredChunk(const Transformer& model,
                           const ParallelPlan& plan,
                           const ChunkShape& shape,
                           const KernelTimer& kernels,
                           LoweredChunk* few)
    : model_(model),
      layouts_(assign_layouts(plan, ranks_of_key_value_head(model, plan))),
      tables_(program_) {
    begin_program();
    if (few != nullptr) {
        chunk_ = repeat_layers(tables_, model, layouts_, shape, few->program_, *few->chunk_);
        gradients_pipeline_digit_ = few->gradients_pipeline_digit_;
    }
    if (chunk_ == nullptr) {
        begin_program();
        lower_layers(plan, shape);
    }
    device_ = kernels(program_);
    if (layouts_.mesh.size(layouts_.pipeline_digit) > 1) {
        lower_messages();
    }
}

void LoweredChunk::begin_program() {
    program_ = {};
    program_.parties.front().mesh = layouts_.mesh;
    program_.parties.front().role_digit = layouts_.pipeline_digit;
    program_.stream_names = stream_names();
    gradients_pipeline_digit_ = layouts_.pipeline_digit;
}

void LoweredChunk::lower_layers(const ParallelPlan& plan, const ChunkShape& shape) {
    // Tensors of a layer without and with recomputation, and of the parts before and after the
    // layers.
    const auto units = static_cast<std::size_t>(shape.num_layers + 2);
    program_.tensors.reserve(64 * units);
    program_.operands.reserve(256 * units);
    chunk_ = lower_chunk(tables_, model_, plan, layouts_, shape, {});
}

void LoweredChunk::lower_messages() {
    if (!chunk_->shape.has_embedding) {
        messages_.receive_forward = lower_message(kForwardReceiveStream, false, -1, chunk_->input);
        messages_.send_backward =
            lower_message(kBackwardSendStream, true, -1, chunk_->input_gradient);
    }
    if (!chunk_->shape.has_head) {
        messages_.send_forward = lower_message(kForwardSendStream, true, 1, chunk_->output_value);
        messages_.receive_backward =
            lower_message(kBackwardReceiveStream, false, 1, chunk_->output_gradient);
    }
}

SegmentId LoweredChunk::lower_message(StreamId stream, bool send, int delta, const Value& value) {
    SegmentBuilder b{tables_, "message"};
    OpSpec spec{.name = "message",
                .stream = stream,
                .cause = Cause::exposed_pipeline,
                .reads = {},
                .writes = {},
                .accumulates = {}};
    (send ? spec.reads : spec.writes) = {value.tensor};
    message_bytes_ = Bytes{local_elements(value.shape, layouts_.pipeline, layouts_.mesh) *
                           size_bytes(value.dtype)};
    b.send_recv({.parts = {{.is_send = send,
                            .digit = layouts_.pipeline_digit,
                            .delta = delta,
                            .bytes = message_bytes_}}},
                spec);
    return b.finish();
}

std::uint32_t LoweredChunk::add(SegmentId segment) {
    role_.slots.push_back({.segment = segment, .micro_batch = 0, .waits = {}});
    return static_cast<std::uint32_t>(role_.slots.size() - 1);
}

std::uint32_t LoweredChunk::add(std::optional<SegmentId> segment) {
    return segment ? add(*segment) : kNone;
}

// Moves the pipeline's digit to its place in the plan, because gradients are partial along that
// plan's digits.
void LoweredChunk::follow_rank_order(const LayoutAssignment& layouts) {
    const std::uint32_t digit = layouts.pipeline_digit;
    if (digit == gradients_pipeline_digit_) {
        return;
    }
    for (Parameter* p : chunk_->parameters()) {
        Layout& layout = p->gradient_layout;
        if (!layout.empty()) {
            const DigitPlacement stages = layout[gradients_pipeline_digit_];
            layout.erase(layout.begin() + gradients_pipeline_digit_);
            layout.insert(layout.begin() + digit, stages);
        }
    }
    gradients_pipeline_digit_ = digit;
}

// Adds one micro-batch of the chunk as a role of its own, to derive the waits between its slots.
void LoweredChunk::add_slots(const ParallelPlan& plan, const LayoutAssignment& layouts) {
    follow_rank_order(layouts);
    const SyncSegments sync = lower_sync(tables_, plan, layouts, *chunk_);
    role_.slots.clear();
    slots_.parameters = add(sync.parameters);
    slots_.receive_forward = add(messages_.receive_forward);
    slots_.forward = add(chunk_->forward);
    slots_.send_forward = add(messages_.send_forward);
    slots_.receive_backward = add(messages_.receive_backward);
    slots_.backward = add(chunk_->backward);
    slots_.send_backward = add(messages_.send_backward);
    slots_.weight = chunk_->splits_backward ? add(chunk_->backward_weight) : kNone;
    slots_.gradients = add(sync.gradients);
    slots_.tied = kNone;
    const ChunkShape& shape = chunk_->shape;
    const bool staged = layouts.mesh.size(layouts.pipeline_digit) > 1;
    if (model_.tied_embeddings && staged && (shape.has_embedding || shape.has_head)) {
        slots_.tied = add(lower_tied_embedding_sync(tables_, layouts, *chunk_));
    }
    derive_slot_waits(program_, role_);
}

std::optional<ChunkPass> LoweredChunk::pass_of(std::uint32_t slot) const {
    if (slot == slots_.forward) {
        return ChunkPass::forward;
    }
    if (slot == slots_.backward) {
        return ChunkPass::backward;
    }
    if (slot == slots_.weight) {
        return ChunkPass::backward_weight;
    }
    return std::nullopt;
}

// The awaited op, if it belongs to a pass.
std::optional<ChunkPlace> LoweredChunk::place_of(const SlotWait& wait,
                                                 const PricedPasses& priced) const {
    const std::optional<ChunkPass> pass = pass_of(wait.slot);
    if (!pass) {
        return std::nullopt;
    }
    const std::uint32_t op = priced.passes[static_cast<std::size_t>(*pass)].position[wait.slot_op];
    return op == kEarly ? std::nullopt : std::optional{ChunkPlace{*pass, op}};
}

// Takes the waits of a pass for its message and for parameters, which may precede any op.
bool LoweredChunk::take_pass_waits(ChunkPass which,
                                   std::uint32_t slot,
                                   std::uint32_t receive,
                                   const PricedPasses& priced,
                                   ChunkTiming& out) const {
    const std::vector<std::uint32_t>& position =
        priced.passes[static_cast<std::size_t>(which)].position;
    ChunkPassTiming& pass = out.passes[static_cast<std::size_t>(which)];
    bool any = receive == kNone;
    bool at_once = false;
    for (const SlotWait& wait : role_.slots[slot].waits) {
        const std::uint32_t op = position[wait.op];
        if (wait.slot == receive) {
            any = true;
            at_once = at_once || wait.op == 0;
        }
        if (wait.slot == slots_.send_forward && which == ChunkPass::backward && wait.op == 0) {
            out.backward_waits_for_send = true;
        } else if (op == kEarly) {
            const auto number = static_cast<std::size_t>(
                std::count(position.begin(), position.begin() + wait.op, kEarly));
            ChunkEarlyOp& early = pass.early[number];
            const std::optional<ChunkPlace> place = place_of(wait, priced);
            if (wait.slot == receive) {
                early.after_message = true;
            } else if (place && !early.after) {
                early.after = place;
            } else {
                return false;
            }
        } else if (wait.slot == receive) {
            pass.message_gates.push_back(op);
        } else if (wait.slot == slots_.parameters && which == ChunkPass::forward) {
            out.parameter_gates.push_back({.op = op, .number = wait.slot_op});
        } else if (!pass_of(wait.slot)) {
            return false;  // a pass always waits for the end of the previous pass
        }
    }
    if (at_once) {
        pass.message_gates.clear();
        pass.waits_for_message = true;
    }
    return any;
}

bool LoweredChunk::take_waits(const PricedPasses& priced, ChunkTiming& out) const {
    using enum ChunkPass;
    if (!take_pass_waits(forward, slots_.forward, slots_.receive_forward, priced, out) ||
        !take_pass_waits(backward, slots_.backward, slots_.receive_backward, priced, out) ||
        (slots_.weight != kNone &&
         !take_pass_waits(backward_weight, slots_.weight, kNone, priced, out))) {
        return false;
    }
    const auto sender = [&](std::uint32_t slot, ChunkPlace& place) {
        if (slot == kNone) {
            return true;
        }
        const std::vector<SlotWait>& waits = role_.slots[slot].waits;
        const auto found = waits.size() == 1 ? place_of(waits[0], priced) : std::nullopt;
        place = found.value_or(ChunkPlace{});
        return found.has_value();
    };
    const auto receives_at_once = [&](std::uint32_t slot) {
        return slot == kNone || role_.slots[slot].waits.empty();
    };
    return sender(slots_.send_forward, out.sends_forward) &&
           sender(slots_.send_backward, out.sends_backward) &&
           receives_at_once(slots_.receive_forward) && receives_at_once(slots_.receive_backward);
}

bool LoweredChunk::take_data(std::uint32_t slot,
                             const PricedPasses& priced,
                             StagePrices& prices,
                             std::vector<ChunkDataOp>& out) const {
    if (slot == kNone) {
        return true;
    }
    // `device_` times the kernels of the passes. Those of slots were added later.
    const auto& ops = program_.segment_of(role_.slots[slot]).ops;
    if (std::ranges::any_of(ops, [](const Op& op) { return op.kind() == OpKind::kernel; })) {
        return false;
    }
    const auto timing = time_segment(program_, ops, 0, device_, prices);
    if (!timing) {
        return false;
    }
    for (const PassOp& op : timing->ops()) {
        if (op.stream != index(kDataStream) || op.num_waits > 0) {
            return false;
        }
        out.push_back({.transfer = {.alone = op.duration, .sms = op.sms}, .after = {}});
    }
    for (const SlotWait& wait : role_.slots[slot].waits) {
        const std::optional<ChunkPlace> place = place_of(wait, priced);
        if (!place) {
            return false;
        }
        out[wait.op].after.push_back(*place);
    }
    return true;
}

// Prices a pass. The reason why it does not fit; empty if it does.
std::string_view LoweredChunk::price_pass(SegmentId segment,
                                          StagePrices& prices,
                                          TimingPool& pool,
                                          PlacedPass& out) const {
    const auto timing =
        time_segment(program_, program_.segments[index(segment)].ops, 0, device_, prices);
    if (!timing) {
        return "groups of one kind differ";
    }
    if (timing->size() == 0) {
        return "a stage without layers";
    }
    if (std::ranges::any_of(timing->ops(),
                            [](const PassOp& op) { return op.stream == index(kDataStream); })) {
        return "a pass moves what belongs to the step";
    }
    auto placed = without_early_ops(*timing, device_.num_sms, pool);
    if (!placed) {
        return "an exchange goes on beside the next pass";
    }
    out = std::move(*placed);
    return {};
}

const LoweredChunk::PricedPasses& LoweredChunk::price_passes(StagePrices& prices,
                                                             TimingPool& pool) {
    const auto [found, fresh] = priced_.try_emplace(&prices);
    PricedPasses& priced = found->second;
    if (fresh) {
        const SegmentId segments[] = {chunk_->forward, chunk_->backward, chunk_->backward_weight};
        const std::size_t count = chunk_->splits_backward ? 3 : 2;
        for (std::size_t p = 0; p < count && priced.refused.empty(); ++p) {
            priced.refused = price_pass(segments[p], prices, pool, priced.passes[p]);
        }
    }
    return priced;
}

tl::expected<ChunkTiming, std::string_view> LoweredChunk::time(const ParallelPlan& plan,
                                                               const LayoutAssignment& layouts,
                                                               StagePrices& prices,
                                                               TimingPool& pool) {
    const PricedPasses& priced = price_passes(prices, pool);
    if (!priced.refused.empty()) {
        return tl::unexpected(priced.refused);
    }
    ChunkTiming out;
    for (std::size_t p = 0; p < std::size(out.passes); ++p) {
        out.passes[p] = priced.passes[p].timing;
    }
    out.message = message_bytes_;
    add_slots(plan, layouts);
    if (!take_waits(priced, out)) {
        return tl::unexpected(std::string_view{"passes wait for what is not modelled"});
    }
    std::vector<ChunkDataOp> tied;
    if (!take_data(slots_.parameters, priced, prices, out.parameters) ||
        !take_data(slots_.gradients, priced, prices, out.gradients) ||
        !take_data(slots_.tied, priced, prices, tied)) {
        return tl::unexpected(std::string_view{"data-parallel groups differ"});
    }
    if (!tied.empty()) {
        out.tied = tied.front();
    }
    out.content = pool.number_of(content_of(out));
    return out;
}

}  // namespace orrery
