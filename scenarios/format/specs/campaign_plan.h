// SPDX-License-Identifier: Apache-2.0
// The sections `faults`, `recovery` and `campaign` of a scenario. Filled by read_faults.cpp,
// read_recovery.cpp and read_campaign.cpp; run_campaign.h converts them to
// engine/campaign/campaign.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/units.h"
#include "engine/campaign/campaign.h"
#include "scenarios/format/specs/fault_use.h"

namespace orrery {

// A fault during a simulated step.
struct StepFault {
    FaultKind kind = FaultKind::slow_gpu;
    Component at;
    std::string link;   // a link of the fabric, instead of a place
    WallTime time;      // from the step's beginning
    WallTime duration;  // 0: until the step's end
    double factor = 0;  // slowdown; 0: the default of the kind
    bool operator==(const StepFault&) const = default;
};

struct FaultPlan {
    std::vector<FaultProcess> processes;
    std::vector<StepFault> in_step{};
    // Entries of the list, for the note on entries that a command does not use
    std::vector<FaultEntry> entries{};
    // Variance of the daily number of faults over its mean; 0: independent faults
    double daily_variance = 0;
    bool operator==(const FaultPlan&) const = default;
};

enum class CheckpointMode : std::uint8_t { blocking, async };

struct CheckpointPlan {
    IntervalRule rule = IntervalRule::exact;
    WallTime interval;
    CheckpointMode mode = CheckpointMode::async;
    // Times of a checkpoint. None: derived from the model's size and the bandwidths.
    std::optional<WallTime> stall{};
    std::optional<WallTime> write{};
    std::optional<WallTime> load{};
    bool operator==(const CheckpointPlan&) const = default;
};

struct RecoveryPlan {
    std::string name;
    std::vector<PolicySpec> policies;  // in the order of the ladder; the cluster is filled in later
    CheckpointPlan checkpoint;
    std::optional<DetectionSpec> detection{};  // replaces the campaign's
    std::uint32_t attempts_max = RecoveryLimits{}.attempts_max;
    bool operator==(const RecoveryPlan&) const = default;
};

struct StoragePlan {
    Bandwidth write = Bandwidth::bytes_per_second(100'000'000'000);  // of the whole store
    Bandwidth read = Bandwidth::bytes_per_second(200'000'000'000);
    bool shared = false;              // with the training network
    double bytes_per_parameter = 14;  // bf16 weights, fp32 master weights and two moments
    // Before each load, all ranks send their needs to one rank, and this rank tells each rank which
    // parts to read. This allows a checkpoint with another layout than the job's (ByteCheckpoint,
    // NSDI 2025).
    WallTime planning{};
    bool operator==(const StoragePlan&) const = default;
};

// The key-value store for rendezvous, and the groups after which all ranks meet at a barrier
// (start_up.h).
enum class StoreKind : std::uint8_t { blocking, asynchronous };
enum class BarrierRule : std::uint8_t { every_group, every_kind };

struct StartUpPlan {
    StoreKind store = StoreKind::asynchronous;
    BarrierRule barriers = BarrierRule::every_kind;
    std::optional<WallTime> store_operation{};  // replaces the store's published time
    std::optional<WallTime> processes{};        // replaces the published table
    std::optional<WallTime> full{};             // replaces processes and communicators
    // Times of processes; communicators are added to them.
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
    std::optional<WallTime> step_time{};  // replaces the simulated step
    double tokens = 0;                    // tokens to train on, for the finish time; 0: none
    ClusterShape shape;                   // the components that can fail (cluster_shape.h)
    std::optional<std::uint32_t> nodes_per_rack{};  // replaces the NVLink domain's trays
    std::optional<std::uint32_t> nodes_per_leaf{};  // replaces the fabric's
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
