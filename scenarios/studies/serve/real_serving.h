// SPDX-License-Identifier: Apache-2.0
// Serves a scenario's workload on this machine, in real time, and predicts the same run: the
// simulator serves the same requests with the same policies and the step times that were measured
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

// How the instances of a scenario are cut into processes. Instances of one rank in one pool are
// threads of this process instead.
struct RealGrid {
    RankGrid instance;
    std::int64_t num_pools = 1;
    std::int64_t num_ranks() const { return num_pools * instance.num_ranks(); }
};

// The instances of a pool follow one another.
struct RealPool {
    BatchingRules rules;
    SchedulerLimits limits;
    std::vector<DecodeStep*> steps;
};

// The instances of a scenario, ready to compute. Where there are several ranks, each has a process;
// what is here is rank 0's.
struct RealInstances {
    ServedModel served;
    std::unique_ptr<RankStep> rank;         // of this process
    std::unique_ptr<InstanceRanks> others;  // of the second pool, as rank 0 sees them
    std::vector<std::unique_ptr<DecodeStep>> steps;
    std::vector<RealPool> pools;
    std::vector<std::unique_ptr<RequestRouter>> routers;  // of the pools

    // As they are, with these routers, or with those of another run.
    std::vector<LivePool> live_pools() const;
    std::vector<LivePool> live_pools(const std::vector<std::unique_ptr<RequestRouter>>& with) const;
};

// Errors for what is only simulated: data and expert parallelism, several instances of several
// ranks, prompts and generation cut differently.
ResultOrErrors<RealGrid> real_grid(const Scenario& scenario);

// `transport` joins the ranks if there are several, and outlives the instances. Errors
// for models that are not trained here, and weights that can't be read. `device` is cpu or cuda.
ResultOrErrors<RealInstances> real_instances(const Scenario& scenario,
                                             Transport* transport = nullptr,
                                             DeviceChoice device = DeviceChoice::cpu);
// What keeps the instances of a scenario from GPUs; none on CPUs.
Errors check_device(const Scenario& scenario, const RealGrid& grid, DeviceChoice device);
// Of every rank but 0: computes what rank 0 tells, until its end.
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
