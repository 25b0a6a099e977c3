// SPDX-License-Identifier: Apache-2.0
// A request to generate text, and its record. The simulated and the real server share these types.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/units.h"

namespace orrery {

enum class RequestId : std::uint32_t {};  // index into the requests of a workload

struct Request {
    Time arrival;  // in an open load; in a closed load the user sends it when free
    std::int64_t prompt_tokens = 1;  // at least 1
    std::int64_t output_tokens = 1;  // at least 1
    // Predicted number of output tokens; 0: the prediction is the true number.
    std::int64_t predicted_tokens = 0;
    // Number of its low-rank adapter; -1: the base model.
    std::int32_t adapter = -1;
    // Images that an encoder on the instance reads before the prompt.
    std::int32_t images = 0;
    // Time on a separate encoder before `arrival`: the user sent the request that much earlier.
    Time encoding{};
    // The workflow of this call, from 1; 0: none. Calls of stage 0 arrive at their arrival times,
    // calls of a later stage when all calls of the stage before have ended.
    std::uint32_t workflow = 0;
    std::uint32_t stage = 0;
    // Hashes of the leading full blocks of the prompt (SchedulerLimits::block_size). A hash covers
    // all tokens up to the end of its block, as in vLLM's prefix cache. Empty: no block is shared.
    std::vector<std::uint64_t> prefix_hashes;
    // An earlier run computed its prompt. The blocks with prefix_hashes are in the cache when the
    // run begins, as far as the cache holds those of all such requests.
    bool repeated = false;
};

// Times are relative to the start of the run; Time::max() for an event that did not happen.
struct RequestRecord {
    Time arrival = Time::max();
    Time first_scheduled = Time::max();
    Time first_token = Time::max();
    Time last_token = Time::max();
    std::int64_t output_tokens = 0;  // generated so far
    std::int64_t cached_tokens = 0;  // tokens of the prompt in the prefix cache at its admission
    std::int64_t loaded_tokens = 0;  // the part of these from tiers below the cache
    std::int32_t preemptions = 0;
    std::int32_t moves = 0;  // to another instance, because its instance stopped
    // Waits between the first and the last token: for blocks on the generating instance, for the
    // move of keys and values, and for the recomputation after a preemption.
    Time cache_wait;
    Time cache_move;
    Time preempted;
    Time longest_gap;  // between two output tokens
    // Mean of the longest tenth of the times between tokens (at least one), Mooncake's time between
    // tokens (Qin et al., FAST 2025). Only with ServingLoad::slow_gaps.
    Time slow_gap;
    bool refused = false;   // it can never fit into the cache, or admission rejected it
    bool rejected = false;  // admission rejected it

    bool finished() const { return last_token != Time::max(); }
    Time time_to_first_token() const { return first_token - arrival; }
    Time end_to_end() const { return last_token - arrival; }
    // (last token - first token) / (tokens - 1); zero with one token.
    Time time_per_output_token() const {
        return output_tokens > 1 ? Time::picoseconds((last_token - first_token).picoseconds() /
                                                     (output_tokens - 1))
                                 : Time{};
    }
};

}  // namespace orrery
