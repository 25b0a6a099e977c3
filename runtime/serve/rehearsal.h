// SPDX-License-Identifier: Apache-2.0
// A server's first seconds with a load, before the run that is predicted. Steps that are timed one
// after the other find threads, processes, caches and clock of the CPU awake. A server's steps
// follow gaps, and other threads of the server and of the machine run beside them. What a rehearsal
// takes longer than its simulation corrects the costs of the prediction.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/result.h"
#include "runtime/serve/cache_move_times.h"
#include "runtime/serve/live_server.h"
#include "runtime/serve/step_times.h"

namespace orrery {

// What this machine takes to serve.
struct ServedCosts {
    std::vector<MeasuredStepCost> steps;  // by pool
    Time front_end;                       // from the arrival to the queue
    CacheMoveTimes moves;
};

struct LoadToRehearse {
    std::vector<Request> requests;
    std::int64_t users = 0;    // as ServingLoad::users
    std::int64_t context = 1;  // tokens of a sequence at most
    std::int64_t vocabulary = 1;
    std::uint64_t seed = 0;  // of the prompts
};

// The requests of the load, over again if there are few, with shorter outputs and gaps where they
// are long, as many as the costs allow in some seconds.
std::vector<Request> rehearsed_requests(const std::vector<LivePool>& pools,
                                        const LoadToRehearse& load,
                                        const ServedCosts& costs);

// Serves them, and corrects the costs. Routers of these pools get to know the requests.
Result<void> rehearse(const std::vector<LivePool>& pools,
                      const LoadToRehearse& load,
                      ServedCosts& costs);

struct RehearsedStep {
    double cost_s = 0;             // of its batch
    std::int64_t steps_awake = 0;  // as in LiveStep
    double took_s = 0;
};
// Steps of an instance that is awake are slower by the ratio of their sums. What the first ones
// take beyond that is the mean of each.
MeasuredStepCost corrected(const MeasuredStepCost& cost, const std::vector<RehearsedStep>& steps);

// The same policies in simulated time.
struct SimulatedLoad {
    ServingResult result;
    std::int64_t moves = 0;  // of keys and values
    std::int64_t moved_tokens = 0;
    Time moving{};  // from the beginnings to the ends
};
SimulatedLoad simulate_served(const std::vector<LivePool>& pools,
                              const std::vector<Request>& requests,
                              std::int64_t users,
                              ServedCosts costs);

}  // namespace orrery
