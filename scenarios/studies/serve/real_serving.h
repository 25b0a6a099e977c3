// SPDX-License-Identifier: Apache-2.0
// Serves a scenario's workload on this machine in real time, and predicts the same run. The
// simulator serves the same requests with the same policies and with step times that were measured
// here before the run.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "runtime/serve/live_server.h"
#include "runtime/serve/rank_step.h"
#include "runtime/serve/served_model.h"
#include "runtime/training_job.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/studies/serve/serving_study.h"

namespace orrery {

// The split of a scenario's instances into processes. If a pool's instances have one rank each,
// they are threads of this process instead.
struct RealGrid {
    RankGrid instance;
    std::int64_t num_pools = 1;
    std::int64_t num_ranks() const { return num_pools * instance.num_ranks(); }
};

// The instances of a pool have consecutive numbers.
struct RealPool {
    BatchingRules rules;
    SchedulerLimits limits;
    std::vector<DecodeStep*> steps;
};

// The instances of a scenario, ready to compute. If there are several ranks, each has a process,
// and this object belongs to rank 0.
struct RealInstances {
    ServedModel served;
    std::unique_ptr<RankStep> rank;         // of this process
    std::unique_ptr<InstanceRanks> others;  // of the second pool, for rank 0
    std::vector<std::unique_ptr<DecodeStep>> steps;
    std::vector<RealPool> pools;
    std::vector<std::unique_ptr<RequestRouter>> routers;  // of the pools

    // The pools with these routers, or with the routers of another run.
    std::vector<LivePool> live_pools() const;
    std::vector<LivePool> live_pools(const std::vector<std::unique_ptr<RequestRouter>>& with) const;
};

// Errors for features that can only be simulated: data and expert parallelism, several instances of
// several ranks, different splits for prompts and generation.
ResultOrErrors<RealGrid> real_grid(const Scenario& scenario);

// `transport` joins several ranks and must outlive the instances. Errors for models that cannot be
// trained here, and for unreadable weights. `device` is cpu or cuda.
ResultOrErrors<RealInstances> real_instances(const Scenario& scenario,
                                             Transport* transport = nullptr,
                                             DeviceChoice device = DeviceChoice::cpu);
// Reasons that prevent the instances from running on GPUs; empty on CPUs.
Errors check_device(const Scenario& scenario, const RealGrid& grid, DeviceChoice device);
// For every rank but 0: computes the orders of rank 0 until rank 0 ends.
Errors follow_instance(const Scenario& scenario, Transport& transport);

struct RealServingAnswer {
    std::string device = "this machine's CPU";
    ServingAnswer measured;
    ServingAnswer predicted;
    std::vector<std::vector<std::int32_t>> outputs;  // greedy tokens, by request
};

// The prompts are drawn from the workload's seed. An Error for a request that is longer than the
// model's sequence. `result` gets every request's record if it is not null.
ResultOrErrors<RealServingAnswer> serve_for_real(const Scenario& scenario,
                                                 const RealInstances& instances,
                                                 std::vector<Request> requests,
                                                 ServingResult* result = nullptr);

}  // namespace orrery
