// SPDX-License-Identifier: Apache-2.0
// The nodes of a cluster and their places: in the job, spare, or in repair. If there are fewer
// crews than broken nodes, repairs wait in order of arrival.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "engine/base/wall_time.h"
#include "engine/recovery/messages.h"

namespace orrery {

enum class NodePlace : std::uint8_t { job, spare, repair };

struct PooledNode {
    NodePlace place = NodePlace::spare;
    bool sick = false;       // has a fault that stops the job and is not cured
    bool transient = false;  // a restart cures it
    bool corrupt = false;    // computes wrong numbers
    bool detecting = false;  // a detection is scheduled
    FaultKind fault = FaultKind::node_crash;
    std::uint64_t fault_id = 0;
    WallTime since;   // time of the fault
    WallTime repair;  // repair time from a trace; 0: draw it
    double slow = 1;
    bool rail_lost = false;  // has lost one of its network paths
    std::uint32_t repairs = 0;
    WallTime new_since;  // time of its last return from repair
    std::uint32_t generation = 0;

    bool broken() const { return sick || corrupt || slow > 1; }
    void heal();
};

// A repair that has begun. The node is ready at `end`.
struct Repair {
    NodeNumber node = 0;
    WallTime end;
};

class NodePool {
public:
    NodePool(std::uint32_t nodes, std::uint32_t in_job, std::uint32_t crews);

    PooledNode& operator[](NodeNumber node) { return nodes_[node]; }
    const PooledNode& operator[](NodeNumber node) const { return nodes_[node]; }
    std::uint32_t count(NodePlace place) const { return counts_[static_cast<std::size_t>(place)]; }
    std::uint32_t size() const { return static_cast<std::uint32_t>(nodes_.size()); }

    void move(NodeNumber node, NodePlace place);
    // Takes the node out of service. Appends the repairs that a crew begins now.
    void send_to_repair(NodeNumber node, WallTime now, WallTime duration, std::vector<Repair>& out);
    // The node's repair has ended: its crew begins the next one.
    void repaired(NodeNumber node, WallTime now, std::vector<Repair>& out);

private:
    struct Waiting {
        NodeNumber node = 0;
        WallTime duration;
    };
    std::vector<PooledNode> nodes_;
    std::uint32_t counts_[3] = {};
    std::uint32_t crews_;  // 0: no limit
    std::uint32_t busy_ = 0;
    std::deque<Waiting> waiting_;
};

}  // namespace orrery
