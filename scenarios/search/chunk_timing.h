// SPDX-License-Identifier: Apache-2.0
// A model chunk as a folded step (engine/folded_step.h) needs it: its passes as timings, and what
// its messages and data ops wait for. Lowered on its own, from the very functions that lower whole
// programs, it serves all plans that differ in their schedules only.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "engine/folded_step.h"
#include "engine/program.h"
#include "engine/simulation.h"
#include "models/chunk_lowering.h"
#include "scenarios/search/stage_prices.h"

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

// An exchange that waits for none of its pass's ops (engine/folded_step.h, EarlyOp).
struct ChunkEarlyOp {
    std::uint8_t stream = 0;
    std::uint32_t launch = 0;  // of the pass
    FixedTransfer transfer{};
    std::optional<ChunkPlace> after{};  // an op of an earlier pass over the same micro-batch
    bool after_message = false;
};

// "Op `op` of the pass not before number `number` of its early ops on a stream, or of the chunk's
// parameters."
struct ChunkGate {
    std::uint32_t op = 0;
    std::uint8_t stream = 0;
    std::uint32_t number = 0;
};

struct ChunkPassTiming {
    PassTiming timing{};
    std::vector<ChunkEarlyOp> early{};
    std::vector<ChunkGate> early_gates{};
    bool starts_early = false;  // what comes first is an early op
    bool waits_for_message = false;
    std::vector<std::uint32_t> message_gates{};  // ops that wait for it, if not the first one
    std::vector<std::uint32_t> position{};  // in `timing` of the segment's ops; of early ones: none
};

struct ChunkTiming {
    std::unique_ptr<Chunk> chunk{};
    ChunkPassTiming passes[3]{};  // by ChunkPass; backward_weight is empty if nothing splits it off
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

// What an op takes alone, and the device.
using KernelTimer = std::function<DeviceTimings(const Program&)>;

// The ops of a segment as a timing; nothing if groups of one kind differ. `first`: of the ops in
// their segment.
std::optional<PassTiming> time_segment(const Program& program,
                                       std::span<const Op> ops,
                                       std::uint32_t first,
                                       const DeviceTimings& device,
                                       StagePrices& prices);

// Or why the chunk does not fit into a folded step.
tl::expected<ChunkTiming, std::string_view> time_chunk(const Transformer& model,
                                                       const ParallelPlan& plan,
                                                       const LayoutAssignment& layouts,
                                                       const ChunkShape& shape,
                                                       const KernelTimer& kernels,
                                                       StagePrices& prices);

}  // namespace orrery
