// SPDX-License-Identifier: Apache-2.0
// The launches of a plan that a device replays as graphs (CUDA graphs) instead of one by one. A
// piece is a run of launches of one slot on one stream without waits in between. A launch that
// another stream waits for ends its piece, and a launch that waits begins one. A piece can
// therefore start with its first launch, and nothing waits for a piece longer than for its last
// launch.
//
// A piece is launched at the place of its first launch in program order. All events that it waits
// for are recorded by then, because the awaited launch ends a piece whose first launch is earlier.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "runtime/launch_plan.h"

namespace orrery {

// The reason why a launch is not part of a graph.
enum class EagerReason : std::uint8_t {
    none,           // it is part of one
    communication,  // the host watches waits for other ranks, with a deadline
    host_work,      // the launch needs the host each time
    alone,          // it has waits on both sides: a graph of one launch saves nothing
};
inline constexpr std::size_t kNumEagerReasons = 4;
std::string_view name(EagerReason reason);

struct GraphPiece {
    std::vector<std::uint32_t> launches;  // on one stream, ascending; a graph has more than one
    EagerReason eager = EagerReason::none;
};

struct GraphPlan {
    std::vector<GraphPiece> pieces;  // in launch order
    // Number of kernel launches (Op::launches) by EagerReason.
    std::array<std::int64_t, kNumEagerReasons> kernels{};

    std::int64_t total_kernels() const;
    double share_in_graphs() const;
};

// The reason why a device cannot capture an op; EagerReason::none if it can.
using WhyEager = std::function<EagerReason(const Op&)>;
GraphPlan plan_graphs(const RankProgram& rank, const LaunchPlan& plan, const WhyEager& why_eager);

}  // namespace orrery
