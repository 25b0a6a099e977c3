// SPDX-License-Identifier: Apache-2.0
// The parts of a served request's time. They add up to the time from its arrival to its last token.
#pragma once

#include <array>
#include <string_view>

#include "engine/base/units.h"
#include "engine/serving/request.h"

namespace orrery {

struct RequestTimes {
    Time queued;      // from the arrival to the first step
    Time prompt;      // from then to the first token
    Time cache_wait;  // keys and values wait for blocks in the generating instance
    Time cache_move;  // keys and values move to the generating instance
    Time preempted;   // the request has lost its cache and waits for a place
    Time generation;  // the remaining time, up to the last token
};

struct RequestPart {
    std::string_view name;  // for people
    std::string_view key;   // in JSON and CSV
    Time RequestTimes::*time;
};
inline constexpr std::array<RequestPart, 6> kRequestParts{
    {{"queue", "queued", &RequestTimes::queued},
     {"prompt", "prompt", &RequestTimes::prompt},
     {"room for its cache", "cache_wait", &RequestTimes::cache_wait},
     {"its cache moves", "cache_move", &RequestTimes::cache_move},
     {"preempted", "preempted", &RequestTimes::preempted},
     {"generation", "generation", &RequestTimes::generation}}};

// For a finished request.
RequestTimes times_of(const RequestRecord& record);

}  // namespace orrery
