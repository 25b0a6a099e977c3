// SPDX-License-Identifier: Apache-2.0
// The collectives of a change of layout. Only this file emits collectives of a lowered Program.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "models/plan/codec.h"
#include "models/plan/layout.h"
#include "models/segments/lanes.h"
#include "models/segments/segment_builder.h"

namespace orrery {

// One collective of a relayout, and the layout after it.
struct RelayoutStep {
    LayoutStep step;
    Layout to;
    // Length of the vector that NCCL counts: the longer of the two sides
    std::int64_t elements = 0;
    bool last = false;
};

// The collectives that turn `from` into `to`, in order (transition(), models/plan/layout.h).
// `local_elements` returns a rank's number of elements in a layout.
std::vector<RelayoutStep> relayout_steps(
    const Layout& from,
    const Layout& to,
    const std::function<std::int64_t(const Layout&)>& local_elements);

// Further properties of a collective.
struct RelayoutCall {
    Traffic traffic = Traffic::data;
    Codec wire{};
    // Number of collectives that the vector is cut into; this is one of them
    std::int64_t pieces = 1;
    Mover mover{};
    Reduction reduction = Reduction::sum;
    // If not empty: only these coordinates along the only digit take part.
    std::vector<std::uint32_t> subset{};
    bool over_stages = false;  // the group also spans all pipeline stages, of all parties
    RowExchange rows{};        // for an all_to_all of rows of tokens
};

// Appends the collective of one step; `operands` has its name, operands and launches. Returns its
// position in the segment.
std::uint32_t emit(SegmentBuilder& ops,
                   const RelayoutStep& step,
                   const RelayoutCall& call,
                   OpSpec operands);

// One hop of a ring along a digit of the mesh. The op's operand goes to the rank `delta` further,
// and the same number of bytes comes from the rank `delta` before.
std::uint32_t emit_hop(
    SegmentBuilder& ops, std::uint32_t digit, int delta, Bytes bytes, OpSpec operands);

// Appends a copy between two memory tiers. Returns its position in the segment.
std::uint32_t emit_copy(SegmentBuilder& ops,
                        const CopyCall& call,
                        OpSpec operands,
                        Traffic traffic = Traffic::offload);
std::uint32_t emit_copy(SegmentBuilder& ops,
                        std::string_view name,
                        const CopyCall& call,
                        Traffic traffic,
                        std::vector<TensorId> reads,
                        std::vector<TensorId> writes);

// The ranks along these digits and, with `stages` and several parties, those of all stages.
struct SumOver {
    std::uint32_t digits = 0;
    bool stages = false;
};
// Appends the sum over these ranks of a tensor of the step's end, in place. Appends nothing for one
// rank.
void sum_over_ranks(SegmentBuilder& ops, const SumOver& over, std::string name, TensorId tensor);

}  // namespace orrery
