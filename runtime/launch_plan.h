// SPDX-License-Identifier: Apache-2.0
// The order in which a rank's host launches the ops of its slots, and the waits of each launch on a
// device with streams. Besides the Program's own waits (data, resources) there are memory hazards:
// tensors whose lifetimes do not overlap in program order share places of the MemoryPlan. An op
// therefore waits for the op of another stream that last used the bytes that it writes, or last
// wrote the bytes that it reads. Waits that follow from others are dropped (by vector clocks: Fidge
// 1988, Mattern 1989). A single processor that runs the launches in order satisfies all waits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/program/program.h"
#include "runtime/rank_program.h"

namespace orrery {

struct Launch {
    std::uint32_t slot = 0;
    std::uint32_t op = 0;  // position in the slot's segment
    StreamId stream{};
    std::vector<std::uint32_t> waits{};  // earlier launches of other streams
    bool awaited = false;                // a later launch of another stream waits for it
    // SMs that collectives of other streams may hold at the same time, if the Program limits them.
    std::uint16_t reserved_sms = 0;
    // Tensors of the slot, and gradients of a part of the step, that the op is the first to
    // accumulate into: they start at zero.
    std::vector<TensorId> begin_at_zero{};
};

// The set of slots to run.
enum class Walk : std::uint8_t {
    step,
    forward,            // evaluation: forward passes and the transfers of activations
    first_forward,      // of the first micro-batch only
    gather_parameters,  // the gathers that update the weights at the begin of a step
};
bool takes_part(const Program& program, const Slot& slot, Walk walk);

struct LaunchPlan {
    std::vector<Launch> launches;      // in program order
    std::vector<StreamId> streams;     // the used streams, ascending
    std::vector<std::uint32_t> lasts;  // last launch of each stream
};
LaunchPlan plan_launches(const RankProgram& rank, Walk walk);

// The bytes of the arena that a launch uses.
struct ArenaUse {
    std::int64_t begin = 0;
    std::int64_t end = 0;  // exclusive
    bool writes = false;
};
std::vector<ArenaUse> arena_uses(const RankProgram& rank, std::uint32_t slot, const Op& op);

}  // namespace orrery
