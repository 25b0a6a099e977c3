// SPDX-License-Identifier: Apache-2.0
// A training job over weeks: faults come (engine/faults), they are detected, the recovery machine
// (engine/recovery) decides, and the time that its actions take passes. The faults of a seed do not
// depend on the policy, so two policies can be compared on the same weeks. Idle nodes do not fail,
// except together with their rack, leaf, power feed or pod.
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

// How long the parts of a recovery take.
struct RecoveryCosts {
    WallTime leave;             // all ranks save and stop, to take a node back
    WallTime swap;              // a ready node takes a place
    WallTime restart_full;      // all processes, rendezvous and communicators
    WallTime restart_in_place;  // the same on the same nodes
    WallTime reconfigure;       // communicators with other members; the step is done again
    WallTime failover;          // to a node that computes the lost work already
    WallTime load_remote;       // read one copy per data-parallel group, and broadcast it
    WallTime load_memory;
    WallTime call_operator = WallTime::seconds(1800);
    bool operator==(const RecoveryCosts&) const = default;
};

struct RepairSpec {
    Distribution time{.kind = DistributionKind::fixed, .scale = WallTime::days(1)};
    WallTime test = WallTime::seconds(3600);  // of a healthy node that was accused
    std::uint32_t crews = 0;                  // repairs at a time; 0: no limit
    double first_time_fix = 1;  // share of the repairs that mend; after the others comes another
    // A node that was repaired r times fails 1 + (most - 1) min(r, repairs) / repairs times as
    // often.
    double worse_most = 1;
    std::uint32_t worse_repairs = 20;
    // A node fails `infant` times as often in its first `infancy`.
    double infant = 1;
    WallTime infancy;
    bool operator==(const RepairSpec&) const = default;

    double mean_s() const { return time.mean_s() / first_time_fix; }
};

// The time until a node is mended: of one repair, or of several.
WallTime sample(const RepairSpec& repair, CounterRandom& random);

struct Forecast {
    double recall = 0;     // share of the stopping faults of nodes that a warning foresees
    double precision = 1;  // share of the warnings that a fault follows
    WallTime lead = WallTime::seconds(600);
    bool operator==(const Forecast&) const = default;
};

struct StepSpeed {
    WallTime step = WallTime::seconds(1);  // of the healthy job
    // A node slower by f makes the job slower by 1 + slow_slope (f - 1).
    double slow_slope = 1;
    // By number of data-parallel units left out: work per time; beyond the table in proportion.
    std::vector<double> shrunk{1.0};
    // Micro-batches and stages, for the time that a stage with fewer peers needs.
    std::uint32_t micro_batches = 1;
    bool operator==(const StepSpeed&) const = default;
};

struct CampaignSpec {
    std::string name;
    ClusterShape cluster;  // spares included: its nodes beyond the job's slots
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

// What a stretch of the job's time was, for timelines; training is `productive`.
struct TimelineEntry {
    WallTime begin;
    WallTime end;
    NodeUse use = NodeUse::productive;
};
struct TimelineMark {
    WallTime time;
    std::string text;
    bool is_observation = false;  // text: its line in the log, which begins with the time
};

struct CampaignResult {
    std::uint64_t seed = 0;
    WallTime wall;
    std::int64_t work_us = 0;        // kept, in microseconds of the healthy job
    WallTime kept;                   // training time whose work was kept
    std::int64_t faults = 0;         // that hit the job
    std::int64_t interruptions = 0;  // that stopped it
    std::int64_t planned = 0;        // stops on purpose
    std::int64_t slowdowns = 0;
    std::int64_t restarts = 0;
    std::int64_t operator_calls = 0;
    std::int64_t false_evictions = 0;
    std::int64_t evictions = 0;
    std::int64_t foreseen = 0;  // faults of nodes that had left in time
    std::int64_t checkpoints = 0;
    std::int64_t corrupt_at_end = 0;                  // 1: wrong numbers were not noticed
    std::array<std::int64_t, kNumNodeUses> use_us{};  // of the job's wall time
    Accounts nodes;                                   // of all nodes' time
    std::vector<std::int64_t> faults_of;              // by process
    std::vector<WallTime> losses;                     // of each restart
    std::vector<WallTime> recoveries;                 // from each fault until training
    std::uint32_t down_most = 0;                      // nodes in repair at once
    std::vector<TimelineEntry> timeline;              // if it was wanted
    std::vector<TrainingSpan> spans;                  // training that was kept
    std::vector<TimelineMark> marks;
    std::vector<RecoveryExchange> log{};  // of the recovery machine, if it was wanted

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
