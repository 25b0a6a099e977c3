// SPDX-License-Identifier: Apache-2.0
// The recovery policies, one small class each (policies.cpp), and the data that choose them.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "engine/faults/component.h"
#include "engine/recovery/peer_placement.h"
#include "engine/recovery/recovery_policy.h"

namespace orrery {

// Processes start again on the same nodes first, `attempts` times (NVRx, Unicron).
struct InPlaceRestart {
    std::uint32_t attempts = 1;
    bool operator==(const InPlaceRestart&) const = default;
};
// Nodes that are ready take the places of lost ones (ByteRobust's warm standbys).
struct HotSpares {
    bool operator==(const HotSpares&) const = default;
};
// The job goes on without the data-parallel units that lost a node, and takes them back later.
struct ElasticDataParallel {
    std::uint32_t units_min = 1;
    bool operator==(const ElasticDataParallel&) const = default;
};
// A dead stage's micro-batches go to its data-parallel peers (ReCycle, SOSP 2024).
struct PipelineRerouting {
    bool operator==(const PipelineRerouting&) const = default;
};
// Each step is copied to other nodes' memories (GEMINI, SOSP 2023).
struct PeerCheckpoint {
    PeerPlacement placement;
    bool operator==(const PeerCheckpoint&) const = default;
};
// Nodes that are slow, expected to fail or about to be taken away leave after a checkpoint.
struct PreemptiveDrain {
    bool slow = true;
    bool operator==(const PreemptiveDrain&) const = default;
};
// All nodes of the suspects' domain go with them (ByteRobust).
struct OverEviction {
    Scope scope = Scope::rack;
    ClusterShape cluster;
    bool operator==(const OverEviction&) const = default;
};
// Wrong numbers: back `checkpoints` checkpoints, further each time, and skip the batches after.
struct RollbackAndSkip {
    std::uint32_t checkpoints = 1;
    bool operator==(const RollbackAndSkip&) const = default;
};
// A share of steps is computed twice and compared (Gemini): the verified step is known.
struct ReplayCheck {
    double share = 0.0025;
    bool operator==(const ReplayCheck&) const = default;
};

// All members are tested before a restart after an incident: a kernel on each, loopback, pairs,
// all-to-all, all-reduce with neighbours (MegaScale's self-check, NSDI 2024, section 4.3). Who
// fails is replaced, and the new ones are tested, too.
struct PreflightCheck {
    std::uint32_t rounds = 2;
    // Of a campaign, which has no real nodes to test. All assumed.
    WallTime duration = WallTime::seconds(60);
    double finds = 0.95;        // a node that is sick or slow
    double localises = 1;       // … and names it, not the other side of a pair
    double false_positive = 0;  // a check accuses a healthy one besides
    bool operator==(const PreflightCheck&) const = default;
};
// Each node also computes what the next stage's node does, and goes on for it when that is lost
// (Bamboo, NSDI 2023), until a node is there again.
struct RedundantComputation {
    WallTime failover = WallTime::seconds(10);  // assumed
    double overhead = 0;                        // of every step, always: 1 + overhead as long
    bool operator==(const RedundantComputation&) const = default;
};
// A node whose adapter, cable or leaf switch is lost goes on through the other one (dual ToR, or
// another rail), and the job at the lower bandwidth's pace, until it is repaired or drained.
struct RailFailover {
    WallTime stall = WallTime::seconds(1);  // until traffic has moved (assumed)
    double bandwidth = 0.5;                 // that is left
    double slowdown = 1;                    // of the job's step with it
    bool operator==(const RailFailover&) const = default;
};

enum class IntervalRule : std::uint8_t { fixed, young, daly, exact, adaptive };
struct CheckpointInterval {
    IntervalRule rule = IntervalRule::fixed;
    WallTime fixed = WallTime::hours(1);
    WallTime stall;  // of training, for one checkpoint
    WallTime mtbf;   // expected; what `adaptive` starts from
    WallTime least;  // time until a checkpoint is durable: the next one would wait for it
    WallTime step;   // the interval is a whole number of steps of so long; 0: any
    bool operator==(const CheckpointInterval&) const = default;
};

using PolicySpec = std::variant<InPlaceRestart,
                                HotSpares,
                                ElasticDataParallel,
                                PipelineRerouting,
                                PeerCheckpoint,
                                PreemptiveDrain,
                                OverEviction,
                                RollbackAndSkip,
                                ReplayCheck,
                                PreflightCheck,
                                RedundantComputation,
                                RailFailover,
                                CheckpointInterval>;

PolicyLadder make_ladder(const std::vector<PolicySpec>& specs);
WallTime interval_of(const CheckpointInterval& rule, WallTime mtbf);

}  // namespace orrery
