// SPDX-License-Identifier: Apache-2.0
// The servers' front ends, which read and tokenise a request before it is queued. Each handles one
// request at a time; the others wait in order of arrival. Answers that end with the same step thus
// bring the next requests of their users one after the other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "engine/base/units.h"
#include "engine/serving/run_clock.h"

namespace orrery {

class FrontEnd {
public:
    // A number of `at_a_time` front ends, at most `requests`; 0: no request waits for another.
    FrontEnd(Time of_request, Time of_token, std::int64_t at_a_time, std::size_t requests)
        : of_request_(of_request),
          of_token_(of_token),
          free_(std::min(static_cast<std::size_t>(at_a_time), requests)) {}

    // The time at which the request with this arrival is queued. Call it in order of arrivals. A
    // request goes to the front end that is free first, and is queued after those before it, so
    // that queues keep the order of arrivals.
    Time through(Time arrival, std::int64_t prompt_tokens) {
        const Time own = bounded_sum(of_request_, bounded_product(of_token_, prompt_tokens));
        if (free_.empty()) {
            queued_ = std::max(queued_, bounded_sum(arrival, own));
            return queued_;
        }
        std::ranges::pop_heap(free_, std::greater{});
        Time& free = free_.back();
        free = bounded_sum(std::max(arrival, free), own);
        queued_ = std::max(queued_, free);
        std::ranges::push_heap(free_, std::greater{});
        return queued_;
    }

private:
    Time of_request_;
    Time of_token_;
    Time queued_;             // the latest time at which a request is queued
    std::vector<Time> free_;  // by front end, a heap: when it is free
};

}  // namespace orrery
