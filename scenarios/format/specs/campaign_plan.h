// SPDX-License-Identifier: Apache-2.0
// What a scenario says about faults, recovery and a campaign: the sections `faults`, `recovery` and
// `campaign`. Filled by read_faults.cpp, read_recovery.cpp and read_campaign.cpp; made into
// engine/campaign/campaign.h by run_campaign.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/units.h"
#include "engine/campaign/campaign.h"
#include "scenarios/format/specs/fault_use.h"

namespace orrery {

// In the middle of a simulated step.
struct StepFault {
    FaultKind kind = FaultKind::slow_gpu;
    Component at;
    std::string link;   // of the fabric, instead of a place
    WallTime time;      // after the step's begin
    WallTime duration;  // 0: until the step's end
    double factor = 0;  // slowdown; 0: the kind's
    bool operator==(const StepFault&) const = default;
};

struct FaultPlan {
    std::vector<FaultProcess> processes;
    std::vector<StepFault> in_step{};
    std::vector<FaultEntry> entries{};  // of the list, for what a command leaves out
    double daily_variance = 0;  // variance over mean of the daily count of faults; 0: independent
    bool operator==(const FaultPlan&) const = default;
};

enum class CheckpointMode : std::uint8_t { blocking, async };

struct CheckpointPlan {
    IntervalRule rule = IntervalRule::exact;
    WallTime interval;
    CheckpointMode mode = CheckpointMode::async;
    // Instead of what the model's size and the bandwidths say:
    std::optional<WallTime> stall{};
    std::optional<WallTime> write{};
    std::optional<WallTime> load{};
    bool operator==(const CheckpointPlan&) const = default;
};

struct RecoveryPlan {
    std::string name;
    std::vector<PolicySpec> policies;  // in the order of the ladder; the cluster is filled in later
    CheckpointPlan checkpoint;
    std::optional<DetectionSpec> detection{};  // instead of the campaign's
    std::uint32_t attempts_max = RecoveryLimits{}.attempts_max;
    bool operator==(const RecoveryPlan&) const = default;
};

struct StoragePlan {
    Bandwidth write = Bandwidth::bytes_per_second(100'000'000'000);  // of the whole store
    Bandwidth read = Bandwidth::bytes_per_second(200'000'000'000);
    bool shared = false;              // with the training network
    double bytes_per_parameter = 14;  // bf16 weights, fp32 master weights and two moments
    // Before each load all ranks tell one of them what they need, who tells each what to read:
    // where the checkpoint's layout need not be the job's (ByteCheckpoint, NSDI 2025).
    WallTime planning{};
    bool operator==(const StoragePlan&) const = default;
};

// Where processes meet, and how often all wait for all (start_up.h).
enum class StoreKind : std::uint8_t { blocking, asynchronous };
enum class BarrierRule : std::uint8_t { every_group, every_kind };

struct StartUpPlan {
    StoreKind store = StoreKind::asynchronous;
    BarrierRule barriers = BarrierRule::every_kind;
    std::optional<WallTime> store_operation{};  // instead of the store's published one
    std::optional<WallTime> processes{};        // instead of the published table
    std::optional<WallTime> full{};             // instead of processes and communicators
    // Of processes, to which communicators come.
    WallTime in_place = WallTime::seconds(60);
    WallTime reconfigure = WallTime::seconds(60);
    WallTime swap = WallTime::seconds(30);
    WallTime call_operator = WallTime::seconds(1800);
    bool operator==(const StartUpPlan&) const = default;
};

struct CampaignPlan {
    bool present = false;
    WallTime length = WallTime::days(30);
    std::uint32_t seeds = 30;
    std::optional<WallTime> step_time{};  // instead of simulating a step
    double tokens = 0;                    // to train on, for the time that it takes; 0: not asked
    ClusterShape shape;                   // what can fail (cluster_shape.h)
    std::optional<std::uint32_t> nodes_per_rack{};  // instead of the NVLink domain's trays
    std::optional<std::uint32_t> nodes_per_leaf{};  // instead of the fabric's
    DetectionSpec detection;
    RepairSpec repair;
    Forecast forecast;
    StoragePlan storage;
    StartUpPlan start_up;
    std::uint32_t flap_timeout = 20;
    std::uint32_t flap_retries = 7;
    bool operator==(const CampaignPlan&) const = default;
};

}  // namespace orrery
