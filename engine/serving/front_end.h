// SPDX-License-Identifier: Apache-2.0
// The servers' front ends, which read and tokenise a request before it is queued. Each handles one
// request at a time; the others wait in order of arrival. Answers that end with the same step thus
// bring the next requests of their users one after the other.
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
    // A number of `at_a_time` front ends, at most `requests`; 0: no request waits for another.
    FrontEnd(Time of_request, std::int64_t at_a_time, std::size_t requests)
        : of_request_(of_request),
          free_(std::min(static_cast<std::size_t>(at_a_time), requests)) {}

    // The time at which the request with this arrival is queued. Call it in order of arrivals. All
    // requests take equal time, so that they go to the front ends in turn.
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
    std::vector<Time> free_;  // by front end: when it is free
    std::size_t turn_ = 0;
};

}  // namespace orrery
