// SPDX-License-Identifier: Apache-2.0
// A job of eight nodes with a checkpoint every 1,000 s and round costs, for tests that count along.
#pragma once

#include <utility>
#include <vector>

#include "engine/campaign/campaign.h"

namespace orrery {

inline WallTime s(double seconds) {
    return WallTime::seconds(seconds);
}

// `nodes` are the job's eight and the spares; the events happen as they stand.
inline CampaignSpec small_campaign(std::uint32_t nodes, std::vector<FaultEvent> events) {
    CampaignSpec spec;
    spec.cluster.nodes = nodes;
    spec.job = {.slots = 8, .units = 4, .stages = 2};
    spec.horizon = s(50000);
    spec.faults = {{.name = "script", .kind = events.front().kind, .events = std::move(events)}};
    spec.checkpoint = {.interval = s(1000)};
    spec.costs = {.swap = s(10),
                  .restart_full = s(100),
                  .restart_in_place = s(20),
                  .reconfigure = s(30),
                  .load_remote = s(50),
                  .load_memory = s(5)};
    spec.repair.time = {DistributionKind::fixed, s(5000)};
    return spec;
}

// Node 3 is hit at 10,500 s; without its unit the job has three quarters of its pace.
inline CampaignSpec one_fault(FaultKind kind, std::uint32_t nodes) {
    CampaignSpec spec = small_campaign(nodes, {{.time = s(10500), .nodes = {3, 1}, .kind = kind}});
    spec.speed.shrunk = {1.0, 0.75};
    return spec;
}

}  // namespace orrery
