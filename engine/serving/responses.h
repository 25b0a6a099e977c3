// SPDX-License-Identifier: Apache-2.0
// The answers that instances stream. After each step one thread of an instance's host turns new
// tokens into text and sends them, a response for each answer (TensorRT-LLM, docs/source/blogs/
// tech_blog/blog08_Scaling_Expert_Parallelism_in_TensorRT-LLM_part2.md: "Support Stream Interval").
// Where this takes longer than the step, the client gets tokens later than they are computed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/base/units.h"
#include "engine/serving/run_clock.h"

namespace orrery {

class Responses {
public:
    // A response has `interval` tokens, but for the first token of an answer, which is sent alone,
    // and the last ones. Zero time: tokens are with the client when they are computed.
    Responses(Time of_response, std::int64_t interval)
        : of_response_(of_response), interval_(interval) {}

    // The time at which the client gets `tokens` new tokens of an answer that had `before` tokens,
    // if an instance has computed them at `now`. Nothing if they wait for a later response. Call it
    // in order of times.
    std::optional<Time> through(
        std::size_t instance, Time now, std::int64_t before, std::int64_t tokens, bool last) {
        if (of_response_ == Time{}) {
            return now;
        }
        if (before > 0 && !last && (before + tokens) / interval_ == before / interval_) {
            return std::nullopt;
        }
        free_.resize(std::max(free_.size(), instance + 1));
        free_[instance] = bounded_sum(std::max(now, free_[instance]), of_response_);
        return free_[instance];
    }

private:
    Time of_response_;
    std::int64_t interval_;
    std::vector<Time> free_;  // by instance: when its thread has sent all responses
};

}  // namespace orrery
