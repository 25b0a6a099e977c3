// SPDX-License-Identifier: Apache-2.0
// The order in which a rank's host launches the ops of its slots, and what each must wait for on a
// device with streams. Besides the Program's own waits (data, resources) these are the hazards of
// memory: tensors whose lifetimes do not overlap in program order share places of the MemoryPlan,
// so an op also waits for the op of another stream that last used the bytes that it writes, or
// wrote the bytes that it reads. Waits that follow from others are left out (by vector clocks:
// Fidge 1988, Mattern 1989). One processor that takes the launches in order satisfies all of them.
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
    bool awaited = false;                // by a later launch of another stream
    // SMs that collectives of other streams may hold meanwhile, where the Program limits them.
    std::uint16_t reserved_sms = 0;
    // Tensors of the slot, and gradients of a part of the step, that the op adds to before anything
    // was written there: they begin at zero.
    std::vector<TensorId> begin_at_zero{};
};

// Which slots run.
enum class Walk : std::uint8_t {
    step,
    forward,            // evaluation: forward passes and what carries activations
    first_forward,      // of the first micro-batch only
    gather_parameters,  // what brings the weights up to date at the begin of a step
};
bool takes_part(const Program& program, const Slot& slot, Walk walk);

struct LaunchPlan {
    std::vector<Launch> launches;      // in program order
    std::vector<StreamId> streams;     // that are used, ascending
    std::vector<std::uint32_t> lasts;  // the last launch of each stream
};
LaunchPlan plan_launches(const RankProgram& rank, Walk walk);

// The bytes of the arena that a launch touches.
struct ArenaUse {
    std::int64_t begin = 0;
    std::int64_t end = 0;  // excluded
    bool writes = false;
};
std::vector<ArenaUse> arena_uses(const RankProgram& rank, std::uint32_t slot, const Op& op);

}  // namespace orrery
