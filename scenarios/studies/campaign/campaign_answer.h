// SPDX-License-Identifier: Apache-2.0
// The answer of a campaign: the fields of its console report and of --json.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/campaign/statistics.h"
#include "scenarios/studies/campaign/fault_classes.h"

namespace orrery {

// The parts of a full restart and of the following loading (start_up.h, state_times.h).
struct StartUpAnswer {
    bool given = false;  // the scenario gives the total; the parts are those of the model
    WallTime processes;
    WallTime communicators;  // includes the rendezvous
    std::int64_t groups = 0;
    std::int64_t store_operations = 0;
    WallTime planning;  // before a load
    WallTime read;      // from the store; empty if the scenario gives the loading time, too
    WallTime broadcast;
};

// One recovery plan over all seeds.
struct PlanAnswer {
    std::string name;
    std::vector<std::string> policies;  // the ladder
    // Policy, and the faults that it does not cover
    std::vector<std::pair<std::string, std::string>> not_covered;
    std::uint32_t spares = 0;
    WallTime interval;  // between checkpoints, at the start
    CheckpointTiming checkpoint;
    RecoveryCosts costs;
    StartUpAnswer start_up;
    Statistic interruptions;
    Statistic ettr;
    Statistic goodput;        // kept work over wall time, at the healthy job's pace
    Statistic effective_mfu;  // MFU x goodput
    Statistic restarts;
    Statistic evictions;
    Statistic false_evictions;
    Statistic operator_calls;
    // Wall time of all runs over all interruptions, if there are any
    std::optional<double> mttf_h{};
    Statistic lost_h;       // training that was lost
    Statistic finish_days;  // days until the requested tokens are trained
    Statistic undetected;   // 1: wrong numbers were not noticed
    double mttr_s = 0;      // from a fault until training resumes, mean over all faults
    double recovery_p50_s = 0;
    double recovery_p95_s = 0;
    double recovery_max_s = 0;
    double loss_p50_s = 0;  // of a restart
    double loss_p95_s = 0;
    double down_most = 0;  // most nodes in repair at the same time, in the worst run
    std::array<double, kNumNodeUses> gpu_hours{};           // mean of runs
    std::array<double, kNumNodeUses> per_interruption_s{};  // of the job's wall time
    std::vector<double> ettr_values;                        // by seed
    std::vector<std::pair<std::string, double>> faults;     // by class, mean of runs
    Statistic ettr_over_first;                              // paired difference to the first plan
    CampaignResult first;                                   // with its timeline
    SlidingEttr sliding;
    std::vector<double> ettr_by_day;
};

struct CampaignAnswer {
    std::string scenario;
    std::string cluster;
    std::int64_t gpus = 0;
    WallTime length;
    std::uint32_t seeds = 0;
    std::uint64_t first_seed = 0;
    WallTime step;
    bool step_simulated = false;
    double mfu = 0;
    double slow_slope = 1;
    double shrunk = 1;
    double mtbf_h = 0;  // expected, of the job; 0: no faults
    std::vector<FaultClass> fault_classes;
    double tokens = 0;
    double tokens_per_day = 0;  // of the healthy job
    std::vector<PlanAnswer> plans;
    double wall_s = 0;
    std::string version;
};

}  // namespace orrery
