// SPDX-License-Identifier: Apache-2.0
#include "models/lowering.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <span>

#include "engine/check.h"
#include "models/chunk_lowering.h"
#include "models/gradient_sync.h"
#include "models/layout_assignment.h"
#include "models/pipeline_split.h"
#include "models/rank_mesh.h"
#include "models/schedule/schedule.h"
#include "models/slot_waits.h"

namespace orrery {
namespace {

// The messages of one chunk: what comes in and goes out in each direction.
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
                  const LayoutAssignment& layouts,
                  std::int32_t stage)
        : tables_(tables), model_(model), plan_(plan), layouts_(layouts), stage_(stage) {}

    Role lower(const std::vector<std::int64_t>& split);

private:
    std::int32_t stages() const {
        return static_cast<std::int32_t>(layouts_.mesh.size(layouts_.pipeline_axis));
    }
    std::int32_t virtual_stage(std::int32_t chunk) const { return chunk * stages() + stage_; }
    bool is_first(std::int32_t chunk) const { return virtual_stage(chunk) == 0; }
    bool is_last(std::int32_t chunk) const {
        return virtual_stage(chunk) == stages() * layouts_.chunks - 1;
    }
    bool receives_forward(std::int32_t chunk) const { return stages() > 1 && !is_first(chunk); }
    bool sends_forward(std::int32_t chunk) const { return stages() > 1 && !is_last(chunk); }

    void lower_chunks(const std::vector<std::int64_t>& split);
    SegmentId message(std::string_view name,
                      StreamId stream,
                      bool send,
                      int delta,
                      std::uint16_t communicator,
                      const Value& value);
    void lower_messages(Chunk& chunk);
    std::uint32_t add_slot(SegmentId segment, Pass pass, std::int32_t chunk, std::int32_t batch);
    void wait_for(std::uint32_t slot, std::uint32_t earlier_slot);
    void add_receive(const WorkItem& item);
    void add_restart();
    void add_compute(const WorkItem& item);
    void add_send(const WorkItem& item);
    void add_turn(std::span<const WorkItem> turn);
    void add_work();
    void add_step_end();

    ProgramTables& tables_;
    const Transformer& model_;
    const ParallelPlan& plan_;
    const LayoutAssignment& layouts_;
    std::int32_t stage_;
    Role role_;
    std::vector<std::unique_ptr<Chunk>> chunks_;
    std::vector<SyncSegments> syncs_;
    std::vector<ChunkMessages> messages_;
    std::vector<std::uint32_t> compute_slots_;  // so far, in order
    std::vector<std::uint32_t> exchange_;       // messages that the next turn waits for
    std::optional<SegmentId> restart_;
};

void StageLowering::lower_chunks(const std::vector<std::int64_t>& split) {
    std::vector<std::int64_t> first(split.size() + 1, 0);
    for (std::size_t v = 0; v < split.size(); ++v) {
        first[v + 1] = first[v] + split[v];
    }
    for (std::int32_t c = 0; c < layouts_.chunks; ++c) {
        const auto v = static_cast<std::size_t>(virtual_stage(c));
        const bool shares = model_.tied_embeddings && is_last(c) && c > 0 && stages() == 1;
        const ChunkShape shape{.stage = stage_,
                               .chunk = c,
                               .first_layer = first[v],
                               .num_layers = split[v],
                               .has_embedding = is_first(c),
                               .has_head = is_last(c)};
        chunks_.push_back(lower_chunk(
            tables_, model_, plan_, layouts_, shape, shares ? chunks_.front().get() : nullptr));
        syncs_.push_back(lower_sync(tables_, model_, plan_, layouts_, *chunks_.back()));
        lower_messages(*chunks_.back());
    }
}

SegmentId StageLowering::message(std::string_view name,
                                 StreamId stream,
                                 bool send,
                                 int delta,
                                 std::uint16_t communicator,
                                 const Value& value) {
    const Bytes bytes{local_elements(value.shape, layouts_.pipeline, layouts_.mesh) *
                      size_bytes(value.dtype)};
    SegmentBuilder b{tables_, fmt::format("stage {} {}", stage_, name)};
    OpSpec spec{.name = std::string{name},
                .stream = stream,
                .cause = Cause::exposed_pipeline,
                .reads = {},
                .writes = {},
                .accumulates = {}};
    (send ? spec.reads : spec.writes) = {value.tensor};
    const Layout& held = tables_.program().tensors[index(value.tensor)].layout;
    std::uint32_t slices = 0;
    for (std::uint32_t axis = 0; axis < held.size(); ++axis) {
        slices |= send && held[axis] != layouts_.pipeline[axis] ? 1u << axis : 0u;
    }
    b.send_recv({.parts = {{.is_send = send,
                            .axis = layouts_.pipeline_axis,
                            .delta = delta,
                            .bytes = bytes,
                            .communicator = communicator,
                            .slice_axes = slices}}},
                spec);
    return b.finish();
}

void StageLowering::lower_messages(Chunk& chunk) {
    ChunkMessages m;
    if (receives_forward(chunk.shape.chunk)) {
        m.receive_forward = message(
            "receive forward", kForwardReceiveStream, false, -1, kForwardCommunicator, chunk.input);
        m.send_backward = message("send backward",
                                  kBackwardSendStream,
                                  true,
                                  -1,
                                  kBackwardCommunicator,
                                  chunk.input_gradient);
    }
    if (sends_forward(chunk.shape.chunk)) {
        m.send_forward = message(
            "send forward", kForwardSendStream, true, 1, kForwardCommunicator, chunk.output_value);
        m.receive_backward = message("receive backward",
                                     kBackwardReceiveStream,
                                     false,
                                     1,
                                     kBackwardCommunicator,
                                     chunk.output_gradient);
    }
    messages_.push_back(m);
}

std::uint32_t StageLowering::add_slot(SegmentId segment,
                                      Pass pass,
                                      std::int32_t chunk,
                                      std::int32_t batch) {
    role_.slots.push_back(
        {.segment = segment, .pass = pass, .chunk = chunk, .micro_batch = batch, .waits = {}});
    return static_cast<std::uint32_t>(role_.slots.size() - 1);
}

// The first op of `slot` waits for the last op of an earlier one.
void StageLowering::wait_for(std::uint32_t slot, std::uint32_t earlier_slot) {
    const auto& segments = tables_.program().segments;
    const auto& ops = segments[index(role_.slots[earlier_slot].segment)].ops;
    ORRERY_CHECK(!ops.empty());
    role_.slots[slot].waits.push_back(
        {.op = 0, .slot = earlier_slot, .slot_op = static_cast<std::uint32_t>(ops.size() - 1)});
}

void StageLowering::add_receive(const WorkItem& item) {
    const ChunkMessages& m = messages_[static_cast<std::size_t>(item.chunk)];
    std::uint32_t slot = 0;
    if (item.pass == Pass::forward) {
        if (!receives_forward(item.chunk)) {
            return;
        }
        slot = add_slot(m.receive_forward, Pass::receive, item.chunk, item.micro_batch);
    } else {
        if (item.pass == Pass::backward_weight || !sends_forward(item.chunk)) {
            return;
        }
        slot = add_slot(m.receive_backward, Pass::receive, item.chunk, item.micro_batch);
    }
    // Posted when the item before the previous one is done: one item ahead of its use, as
    // Megatron-LM's combined send-and-receive calls do. Its sender, which runs one item ahead too,
    // then finds it posted and does not stall.
    constexpr std::size_t back = 2;
    if (compute_slots_.size() >= back) {
        wait_for(slot, compute_slots_[compute_slots_.size() - back]);
    }
    if (!plan_.overlap_p2p) {
        exchange_.push_back(slot);
    }
}

// Without overlap the host waits until the device is idle after every exchange (Megatron-LM,
// p2p_communication.py: torch.cuda.synchronize() behind batch_isend_irecv): whatever it has to do
// before the first kernel of the next turn is then exposed.
void StageLowering::add_restart() {
    if (exchange_.empty()) {
        return;
    }
    if (!restart_) {
        SegmentBuilder b{tables_, fmt::format("stage {} restart", stage_)};
        b.host({.duration = Time{}, .kind = HostWorkKind::restart},
               {.name = "restart after exchange",
                .stream = kComputeStream,
                .cause = Cause::host,
                .reads = {},
                .writes = {},
                .accumulates = {},
                .launches = 0});
        restart_ = b.finish();
    }
    const std::uint32_t slot = add_slot(*restart_, Pass::receive, -1, -1);
    for (const std::uint32_t message : exchange_) {
        wait_for(slot, message);
    }
    exchange_.clear();
}

void StageLowering::add_compute(const WorkItem& item) {
    const Chunk& chunk = *chunks_[static_cast<std::size_t>(item.chunk)];
    const SegmentId segment = item.pass == Pass::forward           ? chunk.forward
                              : item.pass == Pass::backward_weight ? chunk.backward_weight
                                                                   : chunk.backward;
    if (tables_.program().segments[index(segment)].ops.empty()) {
        return;  // a stage without layers has no weight gradients to make later
    }
    const std::uint32_t slot = add_slot(segment, item.pass, item.chunk, item.micro_batch);
    compute_slots_.push_back(slot);
}

void StageLowering::add_send(const WorkItem& item) {
    const ChunkMessages& m = messages_[static_cast<std::size_t>(item.chunk)];
    std::uint32_t slot = 0;
    if (item.pass == Pass::forward && sends_forward(item.chunk)) {
        slot = add_slot(m.send_forward, Pass::send, item.chunk, item.micro_batch);
    } else if (item.pass != Pass::forward && item.pass != Pass::backward_weight &&
               receives_forward(item.chunk)) {
        slot = add_slot(m.send_backward, Pass::send, item.chunk, item.micro_batch);
    } else {
        return;
    }
    // What goes round to the other end of the pipeline may have to lie there for many turns (all
    // micro-batches of a chunk in a breadth-first order): the sender goes on meanwhile.
    const bool wraps = stage_ == (item.pass == Pass::forward ? stages() - 1 : 0);
    if (!plan_.overlap_p2p) {
        wait_for(slot, compute_slots_.back());
        if (!wraps) {
            exchange_.push_back(slot);
        }
    }
}

void StageLowering::add_turn(std::span<const WorkItem> turn) {
    for (const WorkItem& item : turn) {
        add_receive(item);
    }
    add_restart();
    for (const WorkItem& item : turn) {
        add_compute(item);
    }
    for (const WorkItem& item : turn) {
        add_send(item);
    }
}

void StageLowering::add_work() {
    const auto batches = static_cast<std::int32_t>(plan_.num_micro_batches());
    const StageOrder order =
        stage_order(plan_.schedule,
                    {.stages = stages(), .chunks = layouts_.chunks, .micro_batches = batches},
                    stage_);
    // How many passes each chunk still has that make gradients.
    std::map<std::int32_t, std::int64_t> left;
    for (const WorkItem& item : order) {
        left[item.chunk] += item.pass == Pass::forward ? 0 : 1;
    }
    for (std::size_t i = 0; i < order.size();) {
        const bool pair = i + 1 < order.size() &&
                          shares_exchange(plan_, stages(), layouts_.chunks, order[i], order[i + 1]);
        const std::size_t count = pair ? 2 : 1;
        add_turn({&order[i], count});
        i += count;
        const WorkItem& item = order[i - 1];
        const SyncSegments& sync = syncs_[static_cast<std::size_t>(item.chunk)];
        if (item.pass != Pass::forward && --left[item.chunk] == 0 && plan_.overlap_grad_reduce &&
            sync.has_gradient_sync) {
            add_slot(sync.gradient_sync, Pass::gradient_sync, item.chunk, -1);
        }
    }
}

void StageLowering::add_step_end() {
    std::vector<Chunk*> chunks;
    for (std::size_t c = chunks_.size(); c-- > 0;) {  // the last chunk's gradients come first
        if (syncs_[c].has_gradient_sync && !plan_.overlap_grad_reduce) {
            const auto slot = add_slot(
                syncs_[c].gradient_sync, Pass::gradient_sync, static_cast<std::int32_t>(c), -1);
            wait_for(slot, compute_slots_.back());
        }
        chunks.push_back(chunks_[c].get());
    }
    for (const auto& chunk : chunks_) {
        const bool holds_copy = chunk->shape.has_embedding || chunk->shape.has_head;
        if (model_.tied_embeddings && stages() > 1 && holds_copy) {
            Parameter& copy = chunk->shape.has_embedding ? chunk->embedding : chunk->output;
            add_slot(lower_tied_embedding_sync(tables_, model_, plan_, layouts_, copy),
                     Pass::gradient_sync,
                     chunk->shape.chunk,
                     -1);
        }
    }
    const auto optimizer = add_slot(
        lower_optimizer(tables_, model_, plan_, layouts_, stage_, chunks), Pass::optimizer, -1, -1);
    for (std::size_t c = 0; c < chunks_.size(); ++c) {
        if (syncs_[c].has_parameter_sync && !plan_.overlap_param_gather) {
            const auto slot = add_slot(
                syncs_[c].parameter_sync, Pass::parameter_sync, static_cast<std::int32_t>(c), -1);
            wait_for(slot, optimizer);
        }
    }
}

Role StageLowering::lower(const std::vector<std::int64_t>& split) {
    role_.name = fmt::format("pp {}", stage_);
    lower_chunks(split);
    for (std::size_t c = 0; c < chunks_.size(); ++c) {
        // Gathered at the start of the step, the parameters arrive while the first micro-batches
        // run; nothing precedes it in the step, so the last step's optimizer has ended (the host
        // waits for it).
        if (syncs_[c].has_parameter_sync && plan_.overlap_param_gather) {
            add_slot(
                syncs_[c].parameter_sync, Pass::parameter_sync, static_cast<std::int32_t>(c), -1);
        }
    }
    add_work();
    add_step_end();
    derive_slot_waits(tables_.program(), role_);
    return std::move(role_);
}

}  // namespace

bool shares_exchange(const ParallelPlan& plan,
                     std::int32_t stages,
                     std::int32_t chunks,
                     const WorkItem& item,
                     const WorkItem& next) {
    return !plan.overlap_p2p && plan.schedule == ScheduleKind::interleaved_1f1b && chunks > 1 &&
           plan.num_micro_batches() > stages && plan.num_micro_batches() % stages == 0 &&
           item.pass == Pass::forward && next.pass == Pass::backward;
}

Program lower(const Transformer& model, const ParallelPlan& plan) {
    const LayoutAssignment layouts = assign_layouts(plan, ranks_of_key_value_head(model, plan));
    Program program;
    program.mesh = layouts.mesh;
    program.role_axis = layouts.pipeline_axis;
    program.stream_names = stream_names();
    ProgramTables tables{program};
    const std::vector<std::int64_t> split = layers_of_stages(model, plan);
    const auto stages = static_cast<std::int32_t>(layouts.mesh.size(layouts.pipeline_axis));
    for (std::int32_t stage = 0; stage < stages; ++stage) {
        program.roles.push_back(StageLowering{tables, model, plan, layouts, stage}.lower(split));
    }
    return program;
}

}  // namespace orrery
