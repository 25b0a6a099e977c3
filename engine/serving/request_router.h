// SPDX-License-Identifier: Apache-2.0
// The choice of an instance for a request: policies that do not advance time themselves. The same
// classes route simulated and real requests.
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
    // Sets estimates of the pool's steps for a router that predicts; they must outlive it. Without
    // estimates all tokens count alike.
    virtual void use(StepEstimates&) {}
    // Returns an index into `instances`, which must not be empty.
    virtual std::size_t choose(const Request& request,
                               std::span<const BatchScheduler* const> instances) = 0;
};

// The names of the routers:
//   round_robin      in turn
//   random           uniformly, from the seed
//   least_requests   the fewest waiting and running requests; ties: the first
//   least_tokens     the fewest tokens still to compute (join the shortest queue); ties: the fewest
//                    requests
//   power_of_two     the less loaded of two random ones, by requests (Mitzenmacher, 2001)
//   first_token      the earliest first token, predicted from the queue, the cached prefix and the
//                    time to load the rest of it (Algorithm 1 of Mooncake, Qin et al., FAST 2025)
//   prefix_aware     the longest cached prefix less the tokens that wait; ties: the fewest requests
//   earliest_end     the earliest last token: the predicted first token, then steps with all
//                    sequences that will generate there, scaled by the instance's relative time
//                    (the engine's score of HexGen-Text2SQL, Peng et al., arXiv:2505.05286, with
//                    our own estimate)
std::vector<std::string_view> request_router_names();
// Null for an unknown name. `routers` take the requests in turn, and none knows what the others
// chose: round_robin has a turn for each of them. The other names ignore the number.
std::unique_ptr<RequestRouter> make_request_router(std::string_view name,
                                                   std::uint64_t seed,
                                                   std::int64_t routers = 1);

}  // namespace orrery
