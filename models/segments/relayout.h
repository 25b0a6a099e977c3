// SPDX-License-Identifier: Apache-2.0
// From a change of layout to its collectives. All collectives of a lowered Program are emitted
// here.
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
    std::int64_t elements = 0;  // of the vector that NCCL counts: the longer of the two sides
    bool last = false;
};

// The collectives that turn `from` into `to`, in order (models/plan/layout.h, transition).
// `local_elements` says what a rank has in a layout.
std::vector<RelayoutStep> relayout_steps(
    const Layout& from,
    const Layout& to,
    const std::function<std::int64_t(const Layout&)>& local_elements);

// What else there is to say of a collective.
struct RelayoutCall {
    Traffic traffic = Traffic::data;
    Codec wire{};
    std::int64_t pieces = 1;  // collectives that the vector is cut into; this is one of them
    Mover mover{};
    Reduction reduction = Reduction::sum;
    // If not empty: along the only digit only these coordinates take part.
    std::vector<std::uint32_t> subset{};
    bool over_stages = false;  // and over all pipeline stages, of whatever party
    RowExchange rows{};        // of an all_to_all of tokens' rows
};

// Appends the collective of one step; `operands` gives its name, operands and launches. Returns its
// position in the segment.
std::uint32_t emit(SegmentBuilder& ops,
                   const RelayoutStep& step,
                   const RelayoutCall& call,
                   OpSpec operands);

// A hop of a ring along a digit of the mesh: what the op reads goes to the rank `delta` on, and
// as many bytes come from the rank as far on the other side.
std::uint32_t emit_hop(
    SegmentBuilder& ops, std::uint32_t digit, int delta, Bytes bytes, OpSpec operands);

// A copy between two memory tiers.
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

// The ranks along these digits and, if there are several parties, the ranks of all stages.
struct SumOver {
    std::uint32_t digits = 0;
    bool stages = false;
};
// The sum over these ranks of what each has in a tensor of the step's end, in place. Nothing for
// one rank.
void sum_over_ranks(SegmentBuilder& ops, const SumOver& over, std::string name, TensorId tensor);

}  // namespace orrery
