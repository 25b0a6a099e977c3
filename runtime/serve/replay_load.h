// SPDX-License-Identifier: Apache-2.0
// Replays a workload against a live server in real time: requests come at their arrival times, or
// users send them one after the other, as in the simulated run (engine/serving/serving_run.h).
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/result.h"
#include "engine/serving/serving_run.h"
#include "runtime/serve/live_server.h"

namespace orrery {

// Token ids below `vocabulary` from a seed, as many for each request as its prompt has.
std::vector<std::vector<std::int32_t>> drawn_prompts(const std::vector<Request>& requests,
                                                     std::int64_t vocabulary,
                                                     std::uint64_t seed);

struct ReplayedLoad {
    ServingResult result;                            // records and totals, times of this machine
    std::vector<std::vector<std::int32_t>> outputs;  // by request
};

// Greedy tokens. Returns when every request has ended or was refused.
Result<ReplayedLoad> replay_load(LiveServer& server,
                                 const std::vector<Request>& requests,
                                 const std::vector<std::vector<std::int32_t>>& prompts,
                                 const ServingLoad& load);

}  // namespace orrery
