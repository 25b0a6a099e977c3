// SPDX-License-Identifier: Apache-2.0
// The bars of a traced step for a picture: a lane per stream of a rank, and a bar per run of
// consecutive work of one kind in one slot. Ops without a gap between them form one bar. A step of
// many thousand ops is therefore small and quick to draw.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/program/program.h"
#include "engine/world/simulation.h"
#include "models/memory/memory.h"

namespace orrery {

enum class BarKind : std::uint8_t {
    forward,
    backward,
    recomputation,
    optimizer,
    tensor,  // communication over these groups
    context,
    data,
    pipeline,
    other,
};
inline constexpr std::size_t kNumBarKinds = 9;
std::string_view name(BarKind kind);

struct Bar {
    BarKind kind = BarKind::other;
    std::int64_t begin_ns = 0;  // from the start of the step
    std::int64_t length_ns = 0;
    std::uint32_t name = 0;         // index into TimelineBars::names
    std::int32_t micro_batch = -1;  // -1: none
};

struct Lane {
    RankId rank{};
    std::string role;
    std::string stream;
    bool first = false;  // first lane of its rank
    std::vector<Bar> bars;
};

// The role with the highest memory: its peak in each slot.
struct MemoryOverTime {
    struct Moment {
        std::int64_t at_ns = 0;  // begin of the slot
        MemoryByKind of;
    };
    std::string role;
    std::vector<Moment> moments;
};

struct TimelineBars {
    std::vector<std::string> names;
    // By rank and stream, without empty ones. Of many lanes, the ones of a rank's messages share
    // two: "receives" and "sends".
    std::vector<Lane> lanes;
    MemoryOverTime memory;
};

// The bars of the last step in `trace`, which is ordered by (rank, start).
TimelineBars timeline_bars(const Program& program, const std::vector<TracedOp>& trace);

}  // namespace orrery
