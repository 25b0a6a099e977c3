// SPDX-License-Identifier: Apache-2.0
// A request to generate text, and what happened to it. The simulated and the real server share
// these types.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/units.h"

namespace orrery {

enum class RequestId : std::uint32_t {};  // index into a workload's requests

struct Request {
    Time arrival;                    // of an open load; a closed load sends it when a user is free
    std::int64_t prompt_tokens = 1;  // at least 1
    std::int64_t output_tokens = 1;  // at least 1
    // Tokens of the output, as a predictor says before it is known; 0: as many as come.
    std::int64_t predicted_tokens = 0;
    // Number of the low-rank adapter that it is for; -1: the model alone.
    std::int32_t adapter = -1;
    // Images that an encoder reads before the prompt, on the instance itself.
    std::int32_t images = 0;
    // Before its arrival, on an encoder of its own: the request came so much earlier.
    Time encoding{};
    // A call of the workflow of this number, from 1; 0: of none. Calls of stage 0 come at their
    // arrival, those of a later one when all of the stage before have ended.
    std::uint32_t workflow = 0;
    std::uint32_t stage = 0;
    // Hashes of the leading full blocks of the prompt (scheduler.h: block_size). A hash is of all
    // tokens up to the block's end, as vLLM's prefix cache names them. Empty: nothing is shared.
    std::vector<std::uint64_t> prefix_hashes;
};

// Times are since the start of the run; Time::max() for an event that never came.
struct RequestRecord {
    Time arrival = Time::max();
    Time first_scheduled = Time::max();
    Time first_token = Time::max();
    Time last_token = Time::max();
    std::int64_t output_tokens = 0;  // that have been generated
    std::int64_t cached_tokens = 0;  // of the prompt, found in the prefix cache when it began
    std::int64_t loaded_tokens = 0;  // of these, from the tiers below the cache
    std::int32_t preemptions = 0;
    std::int32_t moves = 0;  // to another instance, because its own had stopped
    // Between the first token and the last: keys and values that move to where it generates wait
    // for blocks there, and move; a sequence that gave up its cache waits to be computed again.
    Time cache_wait;
    Time cache_move;
    Time preempted;
    Time longest_gap;  // between two output tokens
    // Mean of the longest tenth of these times (of one at least): the time between tokens of
    // Mooncake (Qin et al., FAST 2025). Where the load asks for it (ServingLoad::slow_gaps).
    Time slow_gap;
    bool refused = false;   // it can never fit into the cache, or admission said no
    bool rejected = false;  // admission said no

    bool finished() const { return last_token != Time::max(); }
    Time time_to_first_token() const { return first_token - arrival; }
    Time end_to_end() const { return last_token - arrival; }
    // (last token - first token) / (tokens - 1); zero of a single token.
    Time time_per_output_token() const {
        return output_tokens > 1 ? Time::picoseconds((last_token - first_token).picoseconds() /
                                                     (output_tokens - 1))
                                 : Time{};
    }
};

}  // namespace orrery
