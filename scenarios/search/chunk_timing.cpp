// SPDX-License-Identifier: Apache-2.0
#include "scenarios/search/chunk_timing.h"

#include <algorithm>
#include <array>

#include "models/gradient_sync.h"
#include "models/lowering.h"
#include "models/slot_waits.h"

namespace orrery {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

// The parts of a ring's op: all members send and receive at the same time.
std::optional<FixedTransfer> exchange(const SendRecvCall& call, StagePrices& prices) {
    FixedTransfer all;
    for (const SendRecvPart& part : call.parts) {
        const int delta = part.is_send ? part.delta : -part.delta;
        const auto one = prices.send(part.axis, delta, part.bytes, -1);
        if (!one) {
            return std::nullopt;
        }
        all.alone = std::max(all.alone, one->alone);
        all.sms += one->sms;
    }
    return all;
}

// One micro-batch of a chunk alone as a role, so that the waits between its slots can be derived.
class ChunkRole {
public:
    ChunkRole(const Transformer& model,
              const ParallelPlan& plan,
              const LayoutAssignment& layouts,
              const ChunkShape& shape)
        : layouts_(layouts), tables_(program_) {
        program_.mesh = layouts.mesh;
        program_.role_axis = layouts.pipeline_axis;
        program_.stream_names = stream_names();
        out_.chunk = lower_chunk(tables_, model, plan, layouts, shape, nullptr);
        sync_ = lower_sync(tables_, model, plan, layouts, *out_.chunk);
        add_slots(model, plan);
        derive_slot_waits(program_, role_);
    }

    tl::expected<ChunkTiming, std::string_view> time(const KernelTimer& kernels,
                                                     StagePrices& prices);

private:
    std::uint32_t add(SegmentId segment) {
        role_.slots.push_back({.segment = segment, .micro_batch = 0, .waits = {}});
        return static_cast<std::uint32_t>(role_.slots.size() - 1);
    }
    std::uint32_t add_message(StreamId stream, bool send, int delta, const Value& value) {
        SegmentBuilder b{tables_, "message"};
        OpSpec spec{.name = "message",
                    .stream = stream,
                    .cause = Cause::exposed_pipeline,
                    .reads = {},
                    .writes = {},
                    .accumulates = {}};
        (send ? spec.reads : spec.writes) = {value.tensor};
        out_.message = Bytes{local_elements(value.shape, layouts_.pipeline, layouts_.mesh) *
                             size_bytes(value.dtype)};
        b.send_recv({.parts = {{.is_send = send,
                                .axis = layouts_.pipeline_axis,
                                .delta = delta,
                                .bytes = out_.message}}},
                    spec);
        return add(b.finish());
    }
    void add_slots(const Transformer& model, const ParallelPlan& plan);
    bool take_waits();
    bool take_pass_waits(std::uint32_t slot, std::uint32_t receive);
    std::optional<ChunkPlace> place_of(const SlotWait& wait) const;
    std::string_view take_pass(std::uint32_t slot,
                               const DeviceTimings& device,
                               StagePrices& prices);
    bool take_data(std::uint32_t slot,
                   const DeviceTimings& device,
                   StagePrices& prices,
                   std::vector<ChunkDataOp>& out);
    std::optional<ChunkPass> pass_of(std::uint32_t slot) const;
    std::span<const Op> ops_of(std::uint32_t slot) const {
        return program_.segment_of(role_.slots[slot]).ops;
    }

    const LayoutAssignment& layouts_;
    Program program_;
    ProgramTables tables_;
    Role role_;
    SyncSegments sync_;
    ChunkTiming out_;
    // Slots, or none.
    std::uint32_t parameters_ = kNone;
    std::uint32_t receive_forward_ = kNone;
    std::uint32_t forward_ = kNone;
    std::uint32_t send_forward_ = kNone;
    std::uint32_t receive_backward_ = kNone;
    std::uint32_t backward_ = kNone;
    std::uint32_t weight_ = kNone;
    std::uint32_t send_backward_ = kNone;
    std::uint32_t gradients_ = kNone;
    std::uint32_t tied_ = kNone;
};

void ChunkRole::add_slots(const Transformer& model, const ParallelPlan& plan) {
    Chunk& chunk = *out_.chunk;
    const bool staged = layouts_.mesh.size(layouts_.pipeline_axis) > 1;
    const bool first = chunk.shape.has_embedding;
    const bool last = chunk.shape.has_head;
    if (sync_.has_parameter_sync) {
        parameters_ = add(sync_.parameter_sync);
    }
    if (staged && !first) {
        receive_forward_ = add_message(kForwardReceiveStream, false, -1, chunk.input);
    }
    forward_ = add(chunk.forward);
    if (staged && !last) {
        send_forward_ = add_message(kForwardSendStream, true, 1, chunk.output_value);
        receive_backward_ = add_message(kBackwardReceiveStream, false, 1, chunk.output_gradient);
    }
    backward_ = add(chunk.backward);
    if (staged && !first) {
        send_backward_ = add_message(kBackwardSendStream, true, -1, chunk.input_gradient);
    }
    if (chunk.splits_backward) {
        weight_ = add(chunk.backward_weight);
    }
    if (sync_.has_gradient_sync) {
        gradients_ = add(sync_.gradient_sync);
    }
    if (model.tied_embeddings && staged && (first || last)) {
        tied_ = add(lower_tied_embedding_sync(
            tables_, model, plan, layouts_, first ? chunk.embedding : chunk.output));
    }
}

std::optional<ChunkPass> ChunkRole::pass_of(std::uint32_t slot) const {
    if (slot == forward_) {
        return ChunkPass::forward;
    }
    if (slot == backward_) {
        return ChunkPass::backward;
    }
    if (slot == weight_) {
        return ChunkPass::backward_weight;
    }
    return std::nullopt;
}

// What the wait is on, if it is an op of a pass.
std::optional<ChunkPlace> ChunkRole::place_of(const SlotWait& wait) const {
    const std::optional<ChunkPass> pass = pass_of(wait.slot);
    if (!pass) {
        return std::nullopt;
    }
    const std::uint32_t op = out_.pass(*pass).position[wait.slot_op];
    return op == kNone ? std::nullopt : std::optional{ChunkPlace{*pass, op}};
}

// A pass may wait for its message and for parameters before any op.
bool ChunkRole::take_pass_waits(std::uint32_t slot, std::uint32_t receive) {
    const ChunkPass which = *pass_of(slot);
    ChunkPassTiming& pass = out_.passes[static_cast<std::size_t>(which)];
    bool any = receive == kNone;
    bool at_once = false;
    for (const SlotWait& wait : role_.slots[slot].waits) {
        const std::uint32_t op = pass.position[wait.op];
        if (wait.slot == receive) {
            any = true;
            at_once = at_once || wait.op == 0;
        }
        if (wait.slot == send_forward_ && slot == backward_ && wait.op == 0) {
            out_.backward_waits_for_send = true;
        } else if (op == kNone) {  // an early one
            const auto number = static_cast<std::size_t>(
                std::count(pass.position.begin(), pass.position.begin() + wait.op, kNone));
            ChunkEarlyOp& early = pass.early[number];
            const std::optional<ChunkPlace> place = place_of(wait);
            if (wait.slot == receive) {
                early.after_message = true;
            } else if (place && !early.after) {
                early.after = place;
            } else {
                return false;
            }
        } else if (wait.slot == receive) {
            pass.message_gates.push_back(op);
        } else if (wait.slot == parameters_ && slot == forward_) {
            out_.parameter_gates.push_back({.op = op, .number = wait.slot_op});
        } else if (!pass_of(wait.slot)) {
            return false;  // a pass waits for the end of the one before it anyway
        }
    }
    if (at_once) {
        pass.message_gates.clear();
        pass.waits_for_message = true;
    }
    return any;
}

bool ChunkRole::take_waits() {
    if (!take_pass_waits(forward_, receive_forward_) ||
        !take_pass_waits(backward_, receive_backward_) ||
        (weight_ != kNone && !take_pass_waits(weight_, kNone))) {
        return false;
    }
    const auto sender = [&](std::uint32_t slot, ChunkPlace& place) {
        if (slot == kNone) {
            return true;
        }
        const std::vector<SlotWait>& waits = role_.slots[slot].waits;
        const auto found = waits.size() == 1 ? place_of(waits[0]) : std::nullopt;
        place = found.value_or(ChunkPlace{});
        return found.has_value();
    };
    const auto receives_at_once = [&](std::uint32_t slot) {
        return slot == kNone || role_.slots[slot].waits.empty();
    };
    return sender(send_forward_, out_.sends_forward) &&
           sender(send_backward_, out_.sends_backward) && receives_at_once(receive_forward_) &&
           receives_at_once(receive_backward_);
}

bool ChunkRole::take_data(std::uint32_t slot,
                          const DeviceTimings& device,
                          StagePrices& prices,
                          std::vector<ChunkDataOp>& out) {
    if (slot == kNone) {
        return true;
    }
    const auto timing = time_segment(program_, ops_of(slot), 0, device, prices);
    if (!timing) {
        return false;
    }
    for (const PassOp& op : timing->ops()) {
        if (op.is_kernel || op.stream != index(kDataStream) || op.num_waits > 0) {
            return false;
        }
        out.push_back({.transfer = {.alone = op.duration, .sms = op.sms}, .after = {}});
    }
    for (const SlotWait& wait : role_.slots[slot].waits) {
        const std::optional<ChunkPlace> place = place_of(wait);
        if (!place) {
            return false;
        }
        out[wait.op].after.push_back(*place);
    }
    return true;
}

// Takes early ops out of a timing: exchanges at the head of their stream that wait for nothing.
bool take_early_ops(const PassTiming& whole, std::uint32_t num_sms, ChunkPassTiming& out) {
    const std::vector<PassOp>& all = whole.ops();
    std::array<bool, kNumStreams> later{};  // the stream's first op that is no early one has been
    std::array<std::uint32_t, kNumStreams> last_early;
    last_early.fill(kNone);
    std::array<std::uint32_t, kNumStreams> num_early{};
    std::vector<std::uint32_t> number(all.size(), kNone);
    std::vector<PassOp> ops;
    std::vector<std::uint32_t> waits;
    for (std::size_t o = 0; o < all.size(); ++o) {
        PassOp op = all[o];
        if (op.stream != 0 && !later[op.stream] && op.num_waits == 0 && !op.is_kernel) {
            number[o] = ++num_early[op.stream] - 1;
            last_early[op.stream] = number[o];
            out.early.push_back({.stream = op.stream,
                                 .launch = op.launch,
                                 .transfer = {.alone = op.duration, .sms = op.sms}});
            out.position.push_back(kNone);
            continue;
        }
        const auto here = static_cast<std::uint32_t>(ops.size());
        if (!later[op.stream] && last_early[op.stream] != kNone) {
            out.early_gates.push_back(
                {.op = here, .stream = op.stream, .number = last_early[op.stream]});
        }
        later[op.stream] = true;
        const auto first_wait = static_cast<std::uint32_t>(waits.size());
        for (std::uint32_t w = 0; w < op.num_waits; ++w) {
            const std::uint32_t target = whole.wait(op.first_wait + w);
            if (number[target] != kNone) {
                out.early_gates.push_back(
                    {.op = here, .stream = all[target].stream, .number = number[target]});
            } else {
                waits.push_back(out.position[target]);
            }
        }
        op.first_wait = first_wait;
        op.num_waits = static_cast<std::uint32_t>(waits.size()) - first_wait;
        out.position.push_back(here);
        ops.push_back(op);
    }
    out.timing = PassTiming{std::move(ops), std::move(waits), num_sms};
    out.starts_early = out.position.front() == kNone;
    // Then what the pass waits for that op waits for, and the pass for that op.
    return std::ranges::all_of(out.early,
                               [](const ChunkEarlyOp& op) { return op.stream <= kEarlyStreams; }) &&
           (!out.starts_early || (!out.early_gates.empty() && out.early_gates.front().op == 0));
}

// Why it does not fit, or nothing.
std::string_view ChunkRole::take_pass(std::uint32_t slot,
                                      const DeviceTimings& device,
                                      StagePrices& prices) {
    if (slot == kNone) {
        return {};
    }
    const auto timing = time_segment(program_, ops_of(slot), 0, device, prices);
    if (!timing) {
        return "groups of one kind differ";
    }
    if (timing->size() == 0) {
        return "a stage without layers";
    }
    if (std::ranges::any_of(timing->ops(),
                            [](const PassOp& op) { return op.stream == index(kDataStream); })) {
        return "parameters are gathered layer by layer";
    }
    ChunkPassTiming& pass = out_.passes[static_cast<std::size_t>(*pass_of(slot))];
    if (!take_early_ops(*timing, device.num_sms, pass) || !pass.timing.is_closed()) {
        return "an exchange goes on beside the next pass";
    }
    return {};
}

tl::expected<ChunkTiming, std::string_view> ChunkRole::time(const KernelTimer& kernels,
                                                            StagePrices& prices) {
    const DeviceTimings device = kernels(program_);
    for (const std::uint32_t slot : {forward_, backward_, weight_}) {
        if (const std::string_view why = take_pass(slot, device, prices); !why.empty()) {
            return tl::unexpected(why);
        }
    }
    if (!take_waits()) {
        return tl::unexpected(std::string_view{"passes wait for what is not modelled"});
    }
    std::vector<ChunkDataOp> tied;
    if (!take_data(parameters_, device, prices, out_.parameters) ||
        !take_data(gradients_, device, prices, out_.gradients) ||
        !take_data(tied_, device, prices, tied)) {
        return tl::unexpected(std::string_view{"data-parallel groups differ"});
    }
    if (!tied.empty()) {
        out_.tied = tied.front();
    }
    return std::move(out_);
}

}  // namespace

std::optional<PassTiming> time_segment(const Program& program,
                                       std::span<const Op> ops,
                                       std::uint32_t first,
                                       const DeviceTimings& device,
                                       StagePrices& prices) {
    std::vector<PassOp> out;
    std::vector<std::uint32_t> waits;
    std::uint32_t launches = 0;
    for (const Op& op : ops) {
        launches += op.launches;
        PassOp timed{.stream = static_cast<std::uint8_t>(index(op.stream)),
                     .is_kernel = op.kind == OpKind::kernel,
                     .launch = launches,
                     .first_wait = static_cast<std::uint32_t>(waits.size())};
        std::optional<FixedTransfer> transfer;
        switch (op.kind) {
            case OpKind::kernel: {
                const KernelTime& time = device.kernels[op.payload];
                timed.duration = time.duration;
                timed.sm_sensitivity_permille = time.sm_sensitivity_permille;
                transfer = FixedTransfer{.alone = time.duration};
                break;
            }
            case OpKind::collective: {
                const CollectiveCall& call = program.collectives[op.payload];
                transfer = prices.collective(call, program.groups[index(call.group)]);
                break;
            }
            case OpKind::send_recv:
                transfer = exchange(program.send_recvs[op.payload], prices);
                break;
            default:
                break;
        }
        if (!transfer || transfer->alone == Time::max()) {
            return std::nullopt;
        }
        timed.duration = transfer->alone;
        timed.sms = transfer->sms;
        for (std::uint32_t w = 0; w < op.num_waits; ++w) {
            const std::uint32_t target = program.waits[op.first_wait + w];
            if (target >= first) {
                waits.push_back(target - first);
            }
        }
        timed.num_waits = static_cast<std::uint32_t>(waits.size()) - timed.first_wait;
        out.push_back(timed);
    }
    return PassTiming{std::move(out), std::move(waits), device.num_sms};
}

tl::expected<ChunkTiming, std::string_view> time_chunk(const Transformer& model,
                                                       const ParallelPlan& plan,
                                                       const LayoutAssignment& layouts,
                                                       const ChunkShape& shape,
                                                       const KernelTimer& kernels,
                                                       StagePrices& prices) {
    return ChunkRole{model, plan, layouts, shape}.time(kernels, prices);
}

}  // namespace orrery
