// SPDX-License-Identifier: Apache-2.0
// Replays a workload against a live server in real time. Requests arrive at their arrival times, or
// users send them one after the other, as in the simulated run (engine/serving/serving_run.h).
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/result.h"
#include "engine/serving/serving_run.h"
#include "runtime/serve/live_server.h"

namespace orrery {

// Random token ids below `vocabulary`, as many per request as its prompt has.
std::vector<std::vector<std::int32_t>> drawn_prompts(const std::vector<Request>& requests,
                                                     std::int64_t vocabulary,
                                                     std::uint64_t seed);

struct ReplayedLoad {
    ServingResult result;                            // records and totals, in this machine's times
    std::vector<std::vector<std::int32_t>> outputs;  // by request
};

// Tokens are drawn greedily. Returns when every request has ended or was refused.
Result<ReplayedLoad> replay_load(LiveServer& server,
                                 const std::vector<Request>& requests,
                                 const std::vector<std::vector<std::int32_t>>& prompts,
                                 const ServingLoad& load);

}  // namespace orrery
