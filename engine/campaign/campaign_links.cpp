// SPDX-License-Identifier: Apache-2.0
// Faults of links and adapters of the simulated cluster: stalls, and failover to another path.
#include <algorithm>

#include "engine/campaign/campaign_world.h"
#include "engine/faults/detection.h"

namespace orrery {
namespace {

constexpr WallTime kFlap = WallTime::seconds(3);  // MegaScale: "several seconds"

}  // namespace

// A flap stalls the job until the next retransmission, or kills the queue pairs (detection.h).
void CampaignWorld::stall(const FaultEvent& event) {
    if (event.nodes.count > 0 && !takes_part(event.nodes.first)) {
        return;
    }
    const WallTime down = event.duration > WallTime{} ? event.duration : kFlap;
    const FlapOutcome outcome = flap_outcome(down, spec_.flap_timeout, spec_.flap_retries);
    if (outcome.dies) {
        FaultEvent deadly = event;
        deadly.duration = WallTime{};
        deadly.nodes = {};
        return stop_job(deadly);
    }
    count(event);
    pause_for(outcome.stall);
}

void CampaignWorld::pause_for(WallTime stall) {
    if (progress_.training() && stall > WallTime{}) {
        progress_.pause(result_.nodes);
        enter(NodeUse::stall);
        schedule(now_ + stall, Happening::stall_ends, 0, generation_);
    }
}

// Nodes that lose one of two network paths continue over the other. False if a node has none left.
bool CampaignWorld::fail_over(const FaultEvent& event) {
    const bool a_rail = event.kind == FaultKind::nic_down || event.kind == FaultKind::switch_down;
    if (!detour_ || !a_rail || event.nodes.count == 0) {
        return false;
    }
    const NodeNumber end = event.nodes.first + event.nodes.count;
    bool any = false;
    for (NodeNumber n = event.nodes.first; n < end; ++n) {
        if (takes_part(n) && (pool_[n].rail_lost || pool_[n].sick)) {
            return false;
        }
        any = any || takes_part(n);
    }
    if (!any) {
        return true;  // an idle node's other path is enough
    }
    FaultEvent slow = event;
    slow.kind = FaultKind::slow_nic;
    slow.factor = 1 + (detour_->slowdown - 1) / std::max(1e-9, spec_.speed.slow_slope);
    if (slow.duration == WallTime{}) {
        CounterRandom random{seed_, event.id, static_cast<std::uint32_t>(Chance::repair)};
        slow.duration = sample(spec_.repair, random);
    }
    slow_down(slow);
    for (NodeNumber n = event.nodes.first; n < end; ++n) {
        pool_[n].rail_lost = pool_[n].rail_lost || takes_part(n);
    }
    pause_for(detour_->stall);
    return true;
}

}  // namespace orrery
