// SPDX-License-Identifier: Apache-2.0
// The servers' front ends, which read and tokenise a request before it is queued. Each handles one
// request at a time, and the others wait there in the order of their arrival: answers that end with
// one step bring the next requests of their users one after the other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/base/units.h"
#include "engine/serving/run_clock.h"

namespace orrery {

class FrontEnd {
public:
    // `at_a_time` of the `requests` of a run; 0: no request waits for another one.
    FrontEnd(Time of_request, std::int64_t at_a_time, std::size_t requests)
        : of_request_(of_request),
          free_(std::min(static_cast<std::size_t>(at_a_time), requests)) {}

    // When the request that comes next, at this time, is queued. Requests come in the order of
    // their arrival; all take equally long, so that the front ends take them in turn.
    Time through(Time arrival) {
        if (free_.empty()) {
            return bounded_sum(arrival, of_request_);
        }
        Time& free = free_[turn_];
        turn_ = (turn_ + 1) % free_.size();
        free = bounded_sum(std::max(arrival, free), of_request_);
        return free;
    }

private:
    Time of_request_;
    std::vector<Time> free_;  // when each is
    std::size_t turn_ = 0;
};

}  // namespace orrery
