// SPDX-License-Identifier: Apache-2.0
// A rehearsal: a short run of a server before the predicted run. Steps timed in sequence find
// threads, processes, caches and the CPU's clock awake, while a server's steps follow gaps and run
// beside other threads. The ratio of the rehearsal to its simulation corrects the costs for the
// prediction.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/result.h"
#include "runtime/serve/cache_move_times.h"
#include "runtime/serve/live_server.h"
#include "runtime/serve/step_times.h"

namespace orrery {

// The costs of serving on this machine.
struct ServedCosts {
    std::vector<MeasuredStepCost> steps;  // by pool
    Time front_end;                       // from the arrival to the queue
    CacheMoveTimes moves;
};

struct LoadToRehearse {
    std::vector<Request> requests;
    std::int64_t users = 0;    // as ServingLoad::users
    std::int64_t context = 1;  // maximum length of a sequence in tokens
    std::int64_t vocabulary = 1;
    std::uint64_t seed = 0;  // of the prompts
};

// The requests of the load, repeated if there are few, with shorter outputs and gaps if these are
// long; as many as take some seconds by the costs.
std::vector<Request> rehearsed_requests(const std::vector<LivePool>& pools,
                                        const LoadToRehearse& load,
                                        const ServedCosts& costs);

// Serves them and corrects the costs. The pools' routers keep the state that they get from these
// requests.
Result<void> rehearse(const std::vector<LivePool>& pools,
                      const LoadToRehearse& load,
                      ServedCosts& costs);

struct RehearsedStep {
    double cost_s = 0;             // predicted cost of its batch
    std::int64_t steps_awake = 0;  // as in LiveStep
    double took_s = 0;
};
// Corrects a cost. Steps of an awake instance are slower by the ratio of the sums. The additional
// time of each of the first steps is its mean.
MeasuredStepCost corrected(const MeasuredStepCost& cost, const std::vector<RehearsedStep>& steps);

// Serves the requests with the same policies in simulated time.
struct SimulatedLoad {
    ServingResult result;
    std::int64_t moves = 0;  // of keys and values
    std::int64_t moved_tokens = 0;
    Time moving{};  // sum of the times from start to end
};
SimulatedLoad simulate_served(const std::vector<LivePool>& pools,
                              const std::vector<Request>& requests,
                              std::int64_t users,
                              ServedCosts costs);

}  // namespace orrery
