// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/search/chunk_timing.h"

#include <algorithm>
#include <array>

#include "models/segments/segment_builder.h"

namespace orrery {
namespace {

// The transfer of a ring's op: all members send and receive at the same time.
std::optional<FixedTransfer> exchange(const SendRecvCall& call, StagePrices& prices) {
    FixedTransfer all;
    for (const SendRecvPart& part : call.parts) {
        const int delta = part.is_send ? part.delta : -part.delta;
        const auto one = prices.send(part.digit, delta, part.bytes, -1);
        if (!one) {
            return std::nullopt;
        }
        all.alone = std::max(all.alone, one->alone);
        all.sms += one->sms;
    }
    return all;
}

}  // namespace

std::optional<PlacedPass> without_early_ops(const PassTiming& whole,
                                            std::uint32_t num_sms,
                                            TimingPool& pool) {
    PlacedPass placed;
    ChunkPassTiming& out = placed.timing;
    const std::vector<PassOp>& all = whole.ops();
    std::array<bool, kNumStreams> later{};  // set after the stream's first op that is not early
    std::array<std::uint32_t, kNumStreams> last_early;
    last_early.fill(kEarly);
    std::array<std::uint32_t, kNumStreams> num_early{};
    std::vector<std::uint32_t> number(all.size(), kEarly);
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
            placed.position.push_back(kEarly);
            continue;
        }
        const auto here = static_cast<std::uint32_t>(ops.size());
        if (!later[op.stream] && last_early[op.stream] != kEarly) {
            out.early_gates.push_back(
                {.op = here, .stream = op.stream, .number = last_early[op.stream]});
        }
        later[op.stream] = true;
        const auto first_wait = static_cast<std::uint32_t>(waits.size());
        for (std::uint32_t w = 0; w < op.num_waits; ++w) {
            const std::uint32_t target = whole.wait(op.first_wait + w);
            if (number[target] != kEarly) {
                out.early_gates.push_back(
                    {.op = here, .stream = all[target].stream, .number = number[target]});
            } else {
                waits.push_back(placed.position[target]);
            }
        }
        op.first_wait = first_wait;
        op.num_waits = static_cast<std::uint32_t>(waits.size()) - first_wait;
        placed.position.push_back(here);
        ops.push_back(op);
    }
    out.timing = &pool.pass(PassTiming{std::move(ops), std::move(waits), num_sms});
    out.starts_early = placed.position.front() == kEarly;
    const bool streams_fit = std::ranges::all_of(
        out.early, [](const ChunkEarlyOp& op) { return op.stream <= kEarlyStreams; });
    // If a pass starts early, the first early op takes over the pass's waits, and the pass waits
    // for that op.
    const bool begins_well =
        !out.starts_early || (!out.early_gates.empty() && out.early_gates.front().op == 0);
    if (!streams_fit || !begins_well || !out.timing->is_closed()) {
        return std::nullopt;
    }
    return placed;
}

std::vector<std::int64_t> content_of(const ChunkTiming& chunk) {
    std::vector<std::int64_t> all;
    const auto add = [&](auto... numbers) {
        (all.push_back(static_cast<std::int64_t>(numbers)), ...);
    };
    const auto place = [&](const ChunkPlace& p) { add(p.pass, p.op); };
    const auto gates = [&](const std::vector<ChunkGate>& list) {
        add(list.size());
        for (const ChunkGate& gate : list) {
            add(gate.op, gate.stream, gate.number);
        }
    };
    const auto data_op = [&](const ChunkDataOp& op) {
        add(op.transfer.alone.picoseconds(), op.transfer.sms, op.after.size());
        std::ranges::for_each(op.after, place);
    };
    const auto data_ops = [&](const std::vector<ChunkDataOp>& list) {
        add(list.size());
        std::ranges::for_each(list, data_op);
    };
    for (const ChunkPassTiming& pass : chunk.passes) {
        add(reinterpret_cast<std::intptr_t>(pass.timing), pass.early.size());
        for (const ChunkEarlyOp& op : pass.early) {
            add(op.stream, op.launch, op.transfer.alone.picoseconds(), op.transfer.sms);
            add(op.after.has_value(), op.after_message);
            place(op.after.value_or(ChunkPlace{}));
        }
        gates(pass.early_gates);
        add(pass.starts_early, pass.waits_for_message, pass.message_gates.size());
        all.insert(all.end(), pass.message_gates.begin(), pass.message_gates.end());
    }
    place(chunk.sends_forward);
    place(chunk.sends_backward);
    add(chunk.backward_waits_for_send, chunk.message.count());
    data_ops(chunk.gradients);
    data_ops(chunk.parameters);
    gates(chunk.parameter_gates);
    add(chunk.tied.has_value());
    data_op(chunk.tied.value_or(ChunkDataOp{}));
    return all;
}

std::optional<PassTiming> time_segment(const Program& program,
                                       std::span<const Op> ops,
                                       std::uint32_t first,
                                       const DeviceTimings& device,
                                       StagePrices& prices) {
    if (device.communication_queues) {
        return std::nullopt;  // what is outside of a pass would wait for its kernels
    }
    std::vector<PassOp> out;
    std::vector<std::uint32_t> waits;
    std::uint32_t launches = 0;
    for (const Op& op : ops) {
        launches += op.launches;
        PassOp timed{.stream = static_cast<std::uint8_t>(index(op.stream)),
                     .is_kernel = op.kind() == OpKind::kernel,
                     .launch = launches,
                     .first_wait = static_cast<std::uint32_t>(waits.size())};
        std::optional<FixedTransfer> transfer;
        switch (op.kind()) {
            case OpKind::kernel: {
                const KernelTime& time = device.kernels[index(op.payload.kernel())];
                timed.duration = time.duration;
                timed.sm_sensitivity_permille = time.sm_sensitivity_permille;
                transfer = FixedTransfer{.alone = time.duration};
                break;
            }
            case OpKind::collective: {
                const CollectiveCall& call = program.collective(op);
                transfer = prices.collective(call, program.groups[index(call.group)]);
                break;
            }
            case OpKind::send_recv:
                transfer = exchange(program.send_recv(op), prices);
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

}  // namespace orrery
