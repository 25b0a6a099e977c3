// SPDX-License-Identifier: Apache-2.0
// A client or front end that collects requests and forwards them in batches, each to one server
// (AMD's harness for MLPerf inference v4.1: "--enable-batcher").
#pragma once

#include <cstdint>
#include <vector>

#include "engine/serving/request.h"

namespace orrery {

struct Collecting {
    // A batch leaves with the first request that arrives at least this long after the previous
    // batch left. Without such a request it leaves this long after its last request arrived.
    Time longest;
    std::int64_t most = 1;     // the most requests of a batch, which then leaves at once
    std::int64_t servers = 1;  // number of servers, which get the batches in turn
};

struct CollectedLoad {
    // Of the first server; a request arrives there when its batch leaves
    std::vector<Request> requests;
    Time mean_wait;  // from the arrival at the client to the departure of the batch
};

// `requests` must be an open load, in the order of arrival.
CollectedLoad collected(const std::vector<Request>& requests, const Collecting& collecting);

}  // namespace orrery
