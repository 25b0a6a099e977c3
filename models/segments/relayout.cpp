// SPDX-License-Identifier: Apache-2.0
#include "models/segments/relayout.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "engine/base/check.h"

namespace orrery {

std::vector<RelayoutStep> relayout_steps(
    const Layout& from,
    const Layout& to,
    const std::function<std::int64_t(const Layout&)>& local_elements) {
    std::vector<RelayoutStep> steps;
    Layout now = from;
    for (const LayoutStep& step : transition(from, to)) {
        Layout next = now;
        for (std::uint32_t digit = 0; digit < next.size(); ++digit) {
            if ((step.digits >> digit & 1u) != 0) {
                next[digit] = to[digit];
            }
        }
        const std::int64_t elements = std::max(local_elements(now), local_elements(next));
        steps.push_back({.step = step, .to = next, .elements = elements});
        now = std::move(next);
    }
    if (!steps.empty()) {
        steps.back().last = true;
    }
    return steps;
}

std::uint32_t emit(SegmentBuilder& ops,
                   const RelayoutStep& step,
                   const RelayoutCall& call,
                   OpSpec operands) {
    const std::uint32_t digits = step.step.digits;
    ORRERY_CHECK(call.subset.empty() || std::has_single_bit(digits));
    const TrafficLane& lane = lane_of(call.traffic);
    operands.stream = lane.stream;
    operands.cause = lane.cause;
    const std::int64_t elements = (step.elements + call.pieces - 1) / call.pieces;
    const auto digit = static_cast<std::uint32_t>(std::countr_zero(digits));
    const auto group = [&] {
        return call.over_stages      ? ops.tables().group_over_stages(digits)
               : call.subset.empty() ? ops.tables().group(digits)
                                     : ops.tables().group(digit, call.subset);
    };
    return ops.collective(
        {.kind = step.step.kind,
         .group = group(),
         .bytes = call.wire.bytes(elements),
         .wire = call.wire.dtype == Dtype::fp8 ? Dtype::uint8 : call.wire.dtype,
         .communicator = lane.communicator,
         .mover = call.mover,
         .reduction = call.reduction,
         .rows = step.step.kind == CollectiveKind::all_to_all ? call.rows : RowExchange{}},
        operands);
}

std::uint32_t emit_hop(
    SegmentBuilder& ops, std::uint32_t digit, int delta, Bytes bytes, OpSpec operands) {
    const TrafficLane& lane = lane_of(Traffic::context_ring);
    operands.stream = lane.stream;
    operands.cause = lane.cause;
    const SendRecvPart there{.is_send = true,
                             .digit = digit,
                             .delta = delta,
                             .bytes = bytes,
                             .communicator = lane.communicator};
    SendRecvPart back = there;
    back.is_send = false;
    back.delta = -delta;
    return ops.send_recv({.parts = {there, back}}, operands);
}

std::uint32_t emit_copy(SegmentBuilder& ops,
                        const CopyCall& call,
                        OpSpec operands,
                        Traffic traffic) {
    const TrafficLane& lane = lane_of(traffic);
    operands.stream = lane.stream;
    operands.cause = lane.cause;
    return ops.copy(call, operands);
}

std::uint32_t emit_copy(SegmentBuilder& ops,
                        std::string_view name,
                        const CopyCall& call,
                        Traffic traffic,
                        std::vector<TensorId> reads,
                        std::vector<TensorId> writes) {
    return emit_copy(ops,
                     call,
                     {.name = std::string{name},
                      .reads = std::move(reads),
                      .writes = std::move(writes),
                      .accumulates = {}},
                     traffic);
}

void sum_over_ranks(SegmentBuilder& ops, const SumOver& over, std::string name, TensorId tensor) {
    const bool stages = over.stages && ops.tables().program().parties.size() > 1;
    if (over.digits == 0 && !stages) {
        return;
    }
    const Tensor& summed = ops.tables().program().tensors[index(tensor)];
    emit(ops,
         {.step = {.kind = CollectiveKind::all_reduce, .digits = over.digits},
          .to = {},
          .elements = summed.bytes.count() / size_bytes(summed.dtype)},
         {.traffic = Traffic::step_scalar, .wire = summed.dtype, .over_stages = stages},
         {.name = std::move(name), .reads = {}, .writes = {}, .accumulates = {tensor}});
}

}  // namespace orrery
