// SPDX-License-Identifier: Apache-2.0
// A model chunk in the form of a folded step (engine/folded/folded_step.h): its passes as timings,
// and the ops that its messages and data ops wait for (made by
// scenarios/studies/search/lowered_chunk.h).
#pragma once

#include <optional>
#include <vector>

#include "engine/folded/folded_step.h"
#include "engine/program/program.h"
#include "engine/world/simulation.h"
#include "scenarios/studies/search/stage_prices.h"
#include "scenarios/studies/search/timing_pool.h"

namespace orrery {

enum class ChunkPass : std::uint8_t { forward, backward, backward_weight };

// An op of the chunk's own passes over one micro-batch.
struct ChunkPlace {
    ChunkPass pass = ChunkPass::forward;
    std::uint32_t op = 0;
};

struct ChunkDataOp {
    FixedTransfer transfer{};
    std::vector<ChunkPlace> after{};
};

// An exchange that waits for no op of its pass (engine/folded/folded_step.h, EarlyOp).
struct ChunkEarlyOp {
    std::uint8_t stream = 0;
    std::uint32_t launch = 0;  // of the pass
    FixedTransfer transfer{};
    std::optional<ChunkPlace> after{};  // an op of an earlier pass over the same micro-batch
    bool after_message = false;
};

// Op `op` of the pass starts after number `number` of the early ops on a stream, of its pass or of
// the chunk's parameters.
struct ChunkGate {
    std::uint32_t op = 0;
    std::uint8_t stream = 0;
    std::uint32_t number = 0;
};

struct ChunkPassTiming {
    const PassTiming* timing = nullptr;
    std::vector<ChunkEarlyOp> early{};
    std::vector<ChunkGate> early_gates{};
    bool starts_early = false;  // the first op is an early op
    bool waits_for_message = false;
    // Ops that wait for the message, if they are not the first one
    std::vector<std::uint32_t> message_gates{};
};

// A pass with the position in `timing` of each op of its segment.
inline constexpr std::uint32_t kEarly = UINT32_MAX;
struct PlacedPass {
    ChunkPassTiming timing{};
    std::vector<std::uint32_t> position{};  // of early ops: kEarly
};

struct ChunkTiming {
    std::uint32_t content = 0;    // equal chunks have equal numbers
    ChunkPassTiming passes[3]{};  // by ChunkPass; backward_weight is empty if it is not split off
    ChunkPlace sends_forward{};
    ChunkPlace sends_backward{};
    bool backward_waits_for_send = false;
    Bytes message{};
    std::vector<ChunkDataOp> gradients{};
    std::vector<ChunkDataOp> parameters{};
    std::vector<ChunkGate> parameter_gates{};  // of the forward pass
    std::optional<ChunkDataOp> tied{};

    const ChunkPassTiming& pass(ChunkPass p) const { return passes[static_cast<std::size_t>(p)]; }
};

// The ops of a segment as a timing; empty if groups of one kind differ. `first` is the position of
// `ops` in the segment.
std::optional<PassTiming> time_segment(const Program& program,
                                       std::span<const Op> ops,
                                       std::uint32_t first,
                                       const DeviceTimings& device,
                                       StagePrices& prices);

// Removes early ops from a timing: exchanges at the head of their stream that wait for nothing.
// Empty if the rest is not closed (engine/folded/pass_timing.h).
std::optional<PlacedPass> without_early_ops(const PassTiming& whole,
                                            std::uint32_t num_sms,
                                            TimingPool& pool);

// The chunk's content as numbers, without its own number.
std::vector<std::int64_t> content_of(const ChunkTiming& chunk);

}  // namespace orrery
