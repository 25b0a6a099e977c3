// SPDX-License-Identifier: Apache-2.0
// The use of all node-time of a campaign. Every node has exactly one use at every instant. In
// integers, all uses add up to wall time x nodes; audit() checks it in every run. When work is
// rolled back, its time moves from `productive` to `lost`.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "engine/base/wall_time.h"

namespace orrery {

enum class NodeUse : std::uint8_t {
    productive,  // steps that were kept
    straggler,   // time that slow nodes add to steps
    checkpoint,  // training stands still for a checkpoint
    lost,        // steps that were rolled back
    stall,       // a link flap or a storm that needs no restart
    detection,   // before the fault is known
    diagnosis,
    checking,  // test of all members before they start
    waiting,   // for nodes
    replacing,
    restart,  // processes and communicators
    restore,  // reading the state
    parked,   // healthy, in a unit that runs without a lost node
    spare,    // healthy and ready
    repair,   // out of service
};
inline constexpr std::size_t kNumNodeUses = 15;
std::string_view name(NodeUse use);

class Accounts {
public:
    void add(NodeUse use, WallTime span, std::int64_t nodes) {
        of_[static_cast<std::size_t>(use)] += span.microseconds() * nodes;
    }
    void move(NodeUse from, NodeUse to, std::int64_t node_microseconds) {
        of_[static_cast<std::size_t>(from)] -= node_microseconds;
        of_[static_cast<std::size_t>(to)] += node_microseconds;
    }
    // In node-microseconds.
    std::int64_t operator[](NodeUse use) const { return of_[static_cast<std::size_t>(use)]; }
    std::int64_t total() const;
    // Aborts unless every node was accounted for at every instant.
    void audit(WallTime wall, std::int64_t nodes) const;

private:
    std::array<std::int64_t, kNumNodeUses> of_{};
};

}  // namespace orrery
