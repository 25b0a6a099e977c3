// SPDX-License-Identifier: Apache-2.0
// Where the node-time of a campaign goes. Every node is in exactly one state at every instant, and
// states add up to wall time x nodes in integers: audit() asserts it in every run. Times that work
// turned out to be lost move from `productive` to `lost` when it is rolled back.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "engine/base/wall_time.h"

namespace orrery {

enum class NodeUse : std::uint8_t {
    productive,  // steps that were kept
    straggler,   // what slow nodes made them longer
    checkpoint,  // training stands still for a checkpoint
    lost,        // steps that were rolled back
    stall,       // a link flap or a storm, without a restart
    detection,   // before the fault is known
    diagnosis,
    checking,  // all members are tested before they start
    waiting,   // for nodes
    replacing,
    restart,  // processes and communicators
    restore,  // reading the state
    parked,   // healthy, in a unit that lost a node
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
    // Stops the program unless every node was accounted for at every instant.
    void audit(WallTime wall, std::int64_t nodes) const;

private:
    std::array<std::int64_t, kNumNodeUses> of_{};
};

}  // namespace orrery
