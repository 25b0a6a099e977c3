// SPDX-License-Identifier: Apache-2.0
// Which instance of a pool serves a request: policy objects without time of their own. The same
// objects route simulated and real requests.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "engine/serving/batch_scheduler.h"

namespace orrery {

class StepEstimates;

class RequestRouter {
public:
    virtual ~RequestRouter() = default;
    // Estimates of the pool's steps, for a router that predicts; they outlive it. Without them it
    // takes all tokens to be as long.
    virtual void use(StepEstimates&) {}
    // An index into `instances`, which is not empty.
    virtual std::size_t choose(const Request& request,
                               std::span<const BatchScheduler* const> instances) = 0;
};

// The names of the routers:
//   round_robin      one after the other
//   random           uniformly, from the seed
//   least_requests   the fewest waiting and running requests, the first of equals
//   least_tokens     the fewest tokens still to compute (join the shortest queue), of equals the
//                    fewest requests
//   power_of_two     the one with fewer requests of two that are drawn (Mitzenmacher, 2001)
//   first_token      the earliest first token, predicted from the queue, the cached prefix and what
//                    loading the rest of it takes (Algorithm 1 of Mooncake, Qin et al., FAST 2025)
//   prefix_aware     the longest cached prefix, less the tokens that wait there; of equals the
//                    fewest requests
//   earliest_end     the earliest last token, predicted like the first one and by a step with all
//                    that will generate there; slower instances take longer (the engine's score of
//                    HexGen-Text2SQL, Peng et al., arXiv:2505.05286, by our own estimate)
std::vector<std::string_view> request_router_names();
// Null if there is none of that name.
std::unique_ptr<RequestRouter> make_request_router(std::string_view name, std::uint64_t seed);

}  // namespace orrery
