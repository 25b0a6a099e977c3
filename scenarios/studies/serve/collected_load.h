// SPDX-License-Identifier: Apache-2.0
// A client or front end that collects requests and hands them on together, each batch to one server
// (AMD's harness for MLPerf inference v4.1: "--enable-batcher").
#pragma once

#include <cstdint>
#include <vector>

#include "engine/serving/request.h"

namespace orrery {

struct Collecting {
    // A batch leaves with the first request that comes this long after the batch before it left.
    // Without such a request it leaves this long after its last request came.
    Time longest;
    std::int64_t most = 1;     // requests of a batch, which then leaves at once
    std::int64_t servers = 1;  // get the batches in turn
};

struct CollectedLoad {
    std::vector<Request> requests;  // of the first server; they arrive when they are handed on
    Time mean_wait;                 // from the arrival at the client
};

// `requests` of an open load, in the order of arrival.
CollectedLoad collected(const std::vector<Request>& requests, const Collecting& collecting);

}  // namespace orrery
