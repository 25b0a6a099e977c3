// SPDX-License-Identifier: Apache-2.0
#include "engine/campaign/node_pool.h"

#include "engine/base/check.h"

namespace orrery {

void PooledNode::heal() {
    sick = false;
    transient = false;
    corrupt = false;
    detecting = false;
    slow = 1;
    rail_lost = false;
    repair = WallTime{};
    ++generation;
}

NodePool::NodePool(std::uint32_t nodes, std::uint32_t in_job, std::uint32_t crews)
    : nodes_(nodes), crews_(crews) {
    ORRERY_CHECK(in_job <= nodes);
    for (NodeNumber node = 0; node < in_job; ++node) {
        nodes_[node].place = NodePlace::job;
    }
    counts_[static_cast<std::size_t>(NodePlace::job)] = in_job;
    counts_[static_cast<std::size_t>(NodePlace::spare)] = nodes - in_job;
}

void NodePool::move(NodeNumber node, NodePlace place) {
    --counts_[static_cast<std::size_t>(nodes_[node].place)];
    nodes_[node].place = place;
    ++counts_[static_cast<std::size_t>(place)];
}

void NodePool::send_to_repair(NodeNumber node,
                              WallTime now,
                              WallTime duration,
                              std::vector<Repair>& out) {
    ORRERY_CHECK(nodes_[node].place != NodePlace::repair);
    move(node, NodePlace::repair);
    if (crews_ > 0 && busy_ >= crews_) {
        waiting_.push_back({node, duration});
        return;
    }
    ++busy_;
    out.push_back({node, now + duration});
}

void NodePool::repaired(NodeNumber node, WallTime now, std::vector<Repair>& out) {
    PooledNode& healed = nodes_[node];
    ORRERY_CHECK(healed.place == NodePlace::repair);
    healed.repairs += healed.broken() ? 1 : 0;
    healed.heal();
    healed.new_since = now;
    move(node, NodePlace::spare);
    --busy_;
    if (!waiting_.empty()) {
        const Waiting next = waiting_.front();
        waiting_.pop_front();
        ++busy_;
        out.push_back({next.node, now + next.duration});
    }
}

}  // namespace orrery
