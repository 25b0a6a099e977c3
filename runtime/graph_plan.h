// SPDX-License-Identifier: Apache-2.0
// Which launches of a plan a device replays as one graph (CUDA graphs) instead of launching each:
// runs of one slot's launches on one stream that nothing outside interrupts. A piece ends after a
// launch that another stream waits for, and a launch that waits begins one, so a piece starts when
// its first launch may and what follows it is not held up longer than by the launch itself.
//
// A piece is launched where its first launch stands in program order. Every wait of it was recorded
// by then: the launch waited for ends a piece, whose first launch comes earlier.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "runtime/launch_plan.h"

namespace orrery {

// Why a launch is not part of a graph.
enum class EagerReason : std::uint8_t {
    none,           // it is
    communication,  // waits for other ranks are watched by the host, with a deadline
    host_work,      // the launch needs the host each time
    alone,          // waits on both sides leave it by itself: a graph of one saves nothing
};
inline constexpr std::size_t kNumEagerReasons = 4;
std::string_view name(EagerReason reason);

struct GraphPiece {
    std::vector<std::uint32_t> launches;  // of one stream, ascending; more than one if a graph
    EagerReason eager = EagerReason::none;
};

struct GraphPlan {
    std::vector<GraphPiece> pieces;  // in the order of launching
    // Kernel launches (Op::launches) by what becomes of them.
    std::array<std::int64_t, kNumEagerReasons> kernels{};

    std::int64_t total_kernels() const;
    double share_in_graphs() const;
};

// What a device can't capture of itself; EagerReason::none for the rest.
using WhyEager = std::function<EagerReason(const Op&)>;
GraphPlan plan_graphs(const RankProgram& rank, const LaunchPlan& plan, const WhyEager& why_eager);

}  // namespace orrery
