// SPDX-License-Identifier: Apache-2.0
// A training job over weeks. Faults strike (engine/faults) and are detected, the recovery machine
// (engine/recovery) decides, and its actions take time. The faults of a seed do not depend on the
// policy, so that two policies can be compared on the same faults. An idle node fails only together
// with its rack, leaf, power feed or pod.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/campaign/accounts.h"
#include "engine/campaign/progress.h"
#include "engine/faults/fault_process.h"
#include "engine/recovery/policies/policies.h"
#include "engine/recovery/recovery_machine.h"

namespace orrery {

// Durations of the parts of a recovery.
struct RecoveryCosts {
    WallTime leave;             // all ranks save and stop, so that a node can join
    WallTime swap;              // a ready node takes a slot
    WallTime restart_full;      // all processes, rendezvous and communicators
    WallTime restart_in_place;  // the same on the same nodes
    WallTime reconfigure;       // communicators with changed members; the current step is repeated
    WallTime failover;          // to a node that already computes the lost work
    WallTime load_remote;       // read one copy per data-parallel group, and broadcast it
    WallTime load_memory;
    WallTime call_operator = WallTime::seconds(1800);
    bool operator==(const RecoveryCosts&) const = default;
};

struct RepairSpec {
    Distribution time{.kind = DistributionKind::fixed, .scale = WallTime::days(1)};
    // Duration of the test of a healthy node that was accused
    WallTime test = WallTime::seconds(3600);
    std::uint32_t crews = 0;    // simultaneous repairs; 0: no limit
    double first_time_fix = 1;  // share of repairs that succeed; a failed repair is repeated
    // After r repairs a node fails 1 + (worse_most - 1) min(r, worse_repairs) / worse_repairs times
    // as often.
    double worse_most = 1;
    std::uint32_t worse_repairs = 20;
    // A node fails `infant` times as often within `infancy` after it was new.
    double infant = 1;
    WallTime infancy;
    bool operator==(const RepairSpec&) const = default;

    double mean_s() const { return time.mean_s() / first_time_fix; }
};

// The time until a node is repaired, over one or several repairs.
WallTime sample(const RepairSpec& repair, CounterRandom& random);

struct Forecast {
    double recall = 0;     // share of the nodes' stopping faults that are preceded by a warning
    double precision = 1;  // share of the warnings that are followed by a fault
    WallTime lead = WallTime::seconds(600);
    bool operator==(const Forecast&) const = default;
};

struct StepSpeed {
    WallTime step = WallTime::seconds(1);  // of the healthy job
    // A node slower by a factor f makes the job slower by 1 + slow_slope (f - 1).
    double slow_slope = 1;
    // Work per time relative to the full job, by number of dropped data-parallel units. Beyond the
    // table it is in proportion to the units.
    std::vector<double> shrunk{1.0};
    // Micro-batches and stages of a step, for the time of a stage with fewer peers.
    std::uint32_t micro_batches = 1;
    bool operator==(const StepSpeed&) const = default;
};

struct CampaignSpec {
    std::string name;
    ClusterShape cluster;  // includes the spares: the nodes beyond the job's slots
    JobShape job;
    WallTime horizon;
    std::vector<FaultProcess> faults;
    FaultWeather weather;
    DetectionSpec detection;
    RepairSpec repair;
    Forecast forecast;
    CheckpointTiming checkpoint;
    RecoveryCosts costs;
    RecoveryLimits limits;
    StepSpeed speed;
    std::vector<PolicySpec> policies;
    std::uint32_t flap_timeout = 20;  // NCCL_IB_TIMEOUT, NCCL_IB_RETRY_CNT
    std::uint32_t flap_retries = 7;
};

// The use of an interval of the job's time, for timelines; training is `productive`.
struct TimelineEntry {
    WallTime begin;
    WallTime end;
    NodeUse use = NodeUse::productive;
};
struct TimelineMark {
    WallTime time;
    std::string text;
    // `text` is then the observation's line in the log, which begins with the time
    bool is_observation = false;
};

struct CampaignResult {
    std::uint64_t seed = 0;
    WallTime wall;
    std::int64_t work_us = 0;        // kept work, in microseconds of the healthy job
    WallTime kept;                   // training time whose work was kept
    std::int64_t faults = 0;         // faults that hit the job
    std::int64_t interruptions = 0;  // faults that stopped it
    std::int64_t planned = 0;        // planned stops
    std::int64_t slowdowns = 0;
    std::int64_t restarts = 0;
    std::int64_t operator_calls = 0;
    std::int64_t false_evictions = 0;
    std::int64_t evictions = 0;
    std::int64_t foreseen = 0;  // faults of single nodes that had left the job in time
    std::int64_t checkpoints = 0;
    std::int64_t corrupt_at_end = 0;  // 1: wrong numbers were not noticed before the end
    std::array<std::int64_t, kNumNodeUses> use_us{};  // of the job's wall time
    Accounts nodes;                                   // of the time of all nodes
    std::vector<std::int64_t> faults_of;              // by process
    std::vector<WallTime> losses;                     // of each restart
    std::vector<WallTime> recoveries;                 // from each fault until training
    std::uint32_t down_most = 0;                      // nodes in repair at once
    std::vector<TimelineEntry> timeline;              // if requested
    std::vector<TrainingSpan> spans;                  // training whose work was kept
    std::vector<TimelineMark> marks;
    std::vector<RecoveryExchange> log{};  // of the recovery machine, if requested

    double ettr() const { return kept / wall; }
    double goodput() const { return static_cast<double>(work_us) / wall.seconds() * 1e-6; }
};

struct CampaignOptions {
    bool timeline = false;
    bool log = false;
};

CampaignResult run_campaign(const CampaignSpec& spec,
                            std::uint64_t seed,
                            const CampaignOptions& options = {});

}  // namespace orrery
