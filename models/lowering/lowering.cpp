// SPDX-License-Identifier: Apache-2.0
#include "models/lowering/lowering.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <span>

#include "engine/base/check.h"
#include "models/blocks/chunk_lowering.h"
#include "models/blocks/shared_vocabulary.h"
#include "models/lowering/gradient_sync.h"
#include "models/lowering/optimizer_lowering.h"
#include "models/plan/layout_assignment.h"
#include "models/plan/pipeline_split.h"
#include "models/schedule/stage_work.h"
#include "models/segments/pass_parts.h"
#include "models/segments/slot_waits.h"
#include "models/segments/stage_messages.h"

namespace orrery {
namespace {

// The messages of one chunk, in both directions.
struct ChunkMessages {
    SegmentId receive_forward{};
    SegmentId send_forward{};
    SegmentId receive_backward{};
    SegmentId send_backward{};
};

class StageLowering {
public:
    StageLowering(ProgramTables& tables,
                  const Transformer& model,
                  const ParallelPlan& plan,
                  const std::vector<StageParty>& parties,
                  std::size_t party,
                  std::int32_t stage)
        : tables_(tables),
          model_(model),
          plan_(plan_of_stage(plan, stage)),
          parties_(parties),
          layouts_(parties[party].layouts),
          stage_(stage) {}

    Role lower(const std::vector<std::int64_t>& split);

private:
    std::int32_t stages() const { return num_stages(parties_); }
    ScheduleShape schedule_shape() const {
        return {.stages = stages(),
                .chunks = layouts_.chunks,
                .micro_batches = static_cast<std::int32_t>(plan_.num_micro_batches()),
                .flushes = static_cast<std::int32_t>(plan_.pipeline_flushes),
                .placement = placement_of(plan_.schedule),
                .shares_loss = plan_.vocabulary_parallel};
    }
    std::int32_t virtual_stage(std::int32_t chunk) const {
        return schedule_shape().virtual_stage(stage_, chunk);
    }
    bool is_first(std::int32_t chunk) const { return virtual_stage(chunk) == 0; }
    bool is_last(std::int32_t chunk) const {
        return virtual_stage(chunk) == schedule_shape().virtual_stages() - 1;
    }
    const std::vector<Op>& ops_of(SegmentId segment) const {
        return tables_.program().segments[index(segment)].ops;
    }

    void lower_chunks(const std::vector<std::int64_t>& split);
    SegmentId message(std::string_view name,
                      Traffic traffic,
                      std::int32_t chunk,
                      const Value& value);
    void lower_messages(Chunk& chunk);
    SegmentId lower_restart();
    const OptimizerSegments& step_end();
    void add_host_reads();
    std::optional<SegmentId> segment_of(const StageWork& work);
    std::uint32_t add_slot(SegmentId segment, const StageWork& work);
    // The first and the last slot of a pass, also for two passes whose parts alternate.
    struct PassSlots {
        std::uint32_t first = 0;
        std::uint32_t last = 0;
    };
    std::vector<PassSlots> add_passes(std::span<const StageWork> passes);
    const PassParts& parts_of(SegmentId segment);
    void wait_for(std::uint32_t slot, std::uint32_t earlier_slot);
    void add_slots();

    ProgramTables& tables_;
    const Transformer& model_;
    const ParallelPlan plan_;  // with the tensor-parallel size of this stage
    const std::vector<StageParty>& parties_;
    const LayoutAssignment& layouts_;
    std::int32_t stage_;
    Role role_;
    std::vector<std::unique_ptr<Chunk>> chunks_;
    std::vector<SyncSegments> syncs_;
    std::vector<ChunkMessages> messages_;
    std::optional<SegmentId> restart_;
    std::optional<OptimizerSegments> step_end_;
    std::map<SegmentId, PassParts> parts_;  // of passes
};

void StageLowering::lower_chunks(const std::vector<std::int64_t>& split) {
    std::vector<std::int64_t> first(split.size() + 1, 0);
    for (std::size_t v = 0; v < split.size(); ++v) {
        first[v + 1] = first[v] + split[v];
    }
    for (std::int32_t c = 0; c < layouts_.chunks; ++c) {
        const auto v = static_cast<std::size_t>(virtual_stage(c));
        const bool shares = model_.tied_embeddings && is_last(c) && c > 0 && is_first(0);
        const bool turns = c > 0 && schedule_shape().turns_at(stage_);
        const ChunkShape shape{.stage = stage_,
                               .chunk = c,
                               .first_layer = first[v],
                               .num_layers = split[v],
                               .has_embedding = is_first(c),
                               .has_head = is_last(c) && !plan_.vocabulary_parallel,
                               .has_vocabulary_part = plan_.vocabulary_parallel,
                               .has_final_norm = is_last(c) && plan_.vocabulary_parallel};
        chunks_.push_back(lower_chunk(tables_,
                                      model_,
                                      plan_,
                                      layouts_,
                                      shape,
                                      {.tied = shares ? chunks_.front().get() : nullptr,
                                       .before = turns ? chunks_.front().get() : nullptr}));
        if (shape.has_vocabulary_part) {
            lower_shared_vocabulary(tables_, model_, plan_, layouts_, *chunks_.back());
        }
        syncs_.push_back(lower_sync(tables_, plan_, layouts_, *chunks_.back()));
        lower_messages(*chunks_.back());
    }
}

SegmentId StageLowering::message(std::string_view name,
                                 Traffic traffic,
                                 std::int32_t chunk,
                                 const Value& value) {
    const bool send = traffic == Traffic::send_forward || traffic == Traffic::send_backward;
    const bool behind = traffic == Traffic::send_forward || traffic == Traffic::receive_backward;
    const bool to_next = behind == schedule_shape().ascends(chunk);
    const TrafficLane& lane = lane_of_message(traffic, !schedule_shape().ascends(chunk));
    const Bytes bytes{local_elements(value.shape, layouts_.pipeline, layouts_.mesh) *
                      size_bytes(value.dtype)};
    SegmentBuilder b{tables_, fmt::format("stage {} {}", stage_, name)};
    OpSpec spec{.name = std::string{name},
                .stream = lane.stream,
                .cause = lane.cause,
                .reads = {},
                .writes = {},
                .accumulates = {}};
    const Layout& held = tables_.program().tensors[index(value.tensor)].layout;
    std::uint32_t slices = 0;
    for (std::uint32_t digit = 0; digit < held.size(); ++digit) {
        slices |= send && held[digit] != layouts_.pipeline[digit] ? 1u << digit : 0u;
    }
    const SendRecvCall call{.parts = stage_message_parts(tables_.program(),
                                                         parties_,
                                                         {.is_send = send,
                                                          .stage = stage_,
                                                          .with_next = to_next,
                                                          .bytes = bytes,
                                                          .communicator = lane.communicator,
                                                          .slice_digits = slices})};
    (send ? spec.reads : spec.writes).assign(call.parts.size(), value.tensor);
    b.send_recv(call, spec);
    return b.finish();
}

void StageLowering::lower_messages(Chunk& chunk) {
    ChunkMessages m;
    const std::int32_t c = chunk.shape.chunk;
    const WorkItem forward{.pass = Pass::forward, .chunk = c};
    if (receives(schedule_shape(), stage_, forward)) {
        m.receive_forward = message("receive forward", Traffic::receive_forward, c, chunk.input);
        m.send_backward = message("send backward", Traffic::send_backward, c, chunk.input_gradient);
    }
    if (sends(schedule_shape(), stage_, forward)) {
        m.send_forward = message("send forward", Traffic::send_forward, c, chunk.output_value);
        m.receive_backward =
            message("receive backward", Traffic::receive_backward, c, chunk.output_gradient);
    }
    messages_.push_back(m);
}

SegmentId StageLowering::lower_restart() {
    SegmentBuilder b{tables_, fmt::format("stage {} restart", stage_)};
    b.host({.duration = Time{}, .kind = HostWorkKind::restart},
           {.name = "restart after exchange",
            .stream = kComputeStream,
            .cause = Cause::host,
            .reads = {},
            .writes = {},
            .accumulates = {},
            .launches = 0});
    return b.finish();
}

const OptimizerSegments& StageLowering::step_end() {
    if (!step_end_) {
        std::vector<Chunk*> chunks;  // the last chunk's gradients are ready first
        for (std::size_t c = chunks_.size(); c-- > 0;) {
            chunks.push_back(chunks_[c].get());
        }
        step_end_ = lower_optimizer(tables_, plan_, layouts_, stage_, chunks);
    }
    return *step_end_;
}

// If weights may still be in transfer when the next step begins, the host waits only for the
// gradient norm, which Megatron-LM reads in every step. A delayed step of the host's processors
// runs beside the next step.
void StageLowering::add_host_reads() {
    for (std::uint32_t s = 0; s < role_.slots.size(); ++s) {
        if ((plan_.overlap_param_gather_with_optimizer_step || plan_.delayed_param_update) &&
            role_.slots[s].segment == step_end().first) {
            role_.host_reads.push_back({s, step_end().read});
        }
    }
}

// Empty if the chunk has no such work.
std::optional<SegmentId> StageLowering::segment_of(const StageWork& work) {
    const auto c = static_cast<std::size_t>(work.item.chunk);
    const bool forward = work.item.pass == Pass::forward;
    switch (work.task) {
        case StageTask::gather_parameters:
            return syncs_[c].parameters;
        case StageTask::receive:
            return forward ? messages_[c].receive_forward : messages_[c].receive_backward;
        case StageTask::restart:
            restart_ = restart_ ? restart_ : lower_restart();
            return restart_;
        case StageTask::pass:
            return chunks_[c]->segment_of(work.item.pass);
        case StageTask::send:
            return forward ? messages_[c].send_forward : messages_[c].send_backward;
        case StageTask::reduce_gradients:
            return syncs_[c].gradients;
        case StageTask::reduce_tied:
            return lower_tied_embedding_sync(tables_, layouts_, *chunks_[c]);
        case StageTask::reduce_copies:
            return lower_copies_sync(tables_, layouts_, *chunks_[c]);
        case StageTask::optimizer:
            return step_end().first;
        case StageTask::optimizer_of_rest:
            return step_end().rest;
    }
    return std::nullopt;
}

Pass pass_of(const StageWork& work) {
    switch (work.task) {
        case StageTask::gather_parameters:
            return Pass::parameter_sync;
        case StageTask::receive:
        case StageTask::restart:
            return Pass::receive;
        case StageTask::pass:
            return work.item.pass;
        case StageTask::send:
            return Pass::send;
        case StageTask::reduce_gradients:
        case StageTask::reduce_tied:
        case StageTask::reduce_copies:
            return Pass::gradient_sync;
        case StageTask::optimizer:
        case StageTask::optimizer_of_rest:
            break;
    }
    return Pass::optimizer;
}

std::uint32_t StageLowering::add_slot(SegmentId segment, const StageWork& work) {
    role_.slots.push_back({.segment = segment,
                           .pass = pass_of(work),
                           .chunk = work.item.chunk,
                           .micro_batch = work.item.micro_batch,
                           .waits = {}});
    return static_cast<std::uint32_t>(role_.slots.size() - 1);
}

// Makes the first op of `slot` wait for the last op of an earlier slot.
void StageLowering::wait_for(std::uint32_t slot, std::uint32_t earlier_slot) {
    const std::vector<Op>& ops = ops_of(role_.slots[earlier_slot].segment);
    ORRERY_CHECK(!ops.empty());
    role_.slots[slot].waits.push_back(
        {.op = 0, .slot = earlier_slot, .slot_op = static_cast<std::uint32_t>(ops.size() - 1)});
}

void StageLowering::add_slots() {
    StageRules rules = rules_of(plan_, model_.tied_embeddings);
    rules.weight_passes = std::ranges::none_of(chunks_, [&](const auto& chunk) {
        return chunk->splits_backward && ops_of(chunk->backward_weight).empty();
    });
    const StageWalk walk = stage_work(rules, schedule_shape(), stage_);
    std::vector<std::uint32_t> slot_of(walk.work.size());  // the last slot of each task
    const auto wait = [&](std::size_t work, std::uint32_t slot) {
        for (const std::uint32_t earlier : walk.waits_of(walk.work[work])) {
            wait_for(slot, slot_of[earlier]);
        }
    };
    const std::span<const StageWork> all = walk.work;
    for (std::size_t w = 0; w < walk.work.size(); ++w) {
        if (rules.pairs_passes && all[w].task == StageTask::pass) {
            const std::size_t together = all[w].paired ? 2 : 1;
            const std::vector<PassSlots> slots = add_passes(all.subspan(w, together));
            for (std::size_t i = 0; i < together; ++i) {
                slot_of[w + i] = slots[i].last;
                wait(w + i, slots[i].first);
            }
            w += together - 1;
        } else if (const std::optional<SegmentId> segment = segment_of(all[w])) {
            slot_of[w] = add_slot(*segment, all[w]);
            wait(w, slot_of[w]);
        }
    }
}

const PassParts& StageLowering::parts_of(SegmentId segment) {
    const auto known = parts_.find(segment);
    if (known != parts_.end()) {
        return known->second;
    }
    const std::uint8_t calls = plan_.ops_are_calls() ? kCallsOfPart : 0;
    return parts_.emplace(segment, parts_of_pass(tables_, segment, calls)).first->second;
}

// Part by part: the first exchange of the backward pass starts before the forward pass begins.
std::vector<StageLowering::PassSlots> StageLowering::add_passes(std::span<const StageWork> passes) {
    std::vector<PassSlots> added(passes.size());
    std::vector<const PassParts*> parts;
    std::vector<std::vector<std::uint32_t>> slots(passes.size());
    for (const StageWork& pass : passes) {
        const std::optional<SegmentId> segment = segment_of(pass);
        ORRERY_CHECK(segment.has_value());
        parts.push_back(&parts_of(*segment));
    }
    for (const auto& [p, part] : launch_order(parts)) {
        slots[p].push_back(add_slot(parts[p]->parts[part].segment, passes[p]));
    }
    for (std::size_t p = 0; p < passes.size(); ++p) {
        added[p] = {slots[p].front(), slots[p].back()};
        for (const PartWait& wait : parts[p]->waits) {
            role_.slots[slots[p][wait.part]].waits.push_back(
                {.op = wait.op, .slot = slots[p][wait.earlier_part], .slot_op = wait.earlier_op});
        }
    }
    return added;
}

Role StageLowering::lower(const std::vector<std::int64_t>& split) {
    role_.name = fmt::format("pp {}", stage_);
    lower_chunks(split);
    add_slots();
    add_host_reads();
    derive_slot_waits(tables_.program(), role_);
    return std::move(role_);
}

}  // namespace

Program lower(const Transformer& model, const ParallelPlan& plan) {
    std::vector<RoutedTensor> routed;
    return lower(model, plan, routed);
}

Program lower(const Transformer& model,
              const ParallelPlan& plan,
              std::vector<RoutedTensor>& routed) {
    const std::vector<StageParty> parties = stage_parties(model, plan);
    Program program;
    program.parties.clear();
    for (const StageParty& party : parties) {
        program.parties.push_back(
            {.name = parties.size() == 1 ? "" : fmt::format("stages from {}", party.first_stage),
             .mesh = party.layouts.mesh,
             .role_digit = party.layouts.pipeline_digit,
             .first_role = static_cast<std::uint32_t>(party.first_stage),
             .continues_job = party.first_stage > 0});
    }
    program.stream_names =
        stream_names({.experts = model.num_experts > 0,
                      .descending = placement_of(plan.schedule) != ChunkPlacement::looping,
                      .tiers = uses_tiers(plan)});
    ProgramTables tables{program};
    const std::vector<std::int64_t> split = layers_of_stages(model, plan);
    for (std::size_t p = 0; p < parties.size(); ++p) {
        tables.enter(static_cast<std::uint32_t>(p));
        const std::int32_t end = parties[p].first_stage + parties[p].num_stages;
        for (std::int32_t stage = parties[p].first_stage; stage < end; ++stage) {
            program.roles.push_back(
                StageLowering{tables, model, plan, parties, p, stage}.lower(split));
        }
    }
    routed = std::move(tables.routed());
    return program;
}

}  // namespace orrery
