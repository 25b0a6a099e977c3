// SPDX-License-Identifier: Apache-2.0
// What faults do to the instances that serve. Instances are counted over the pools of a run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/base/units.h"

namespace orrery {

// An instance stops, and its key-value cache is lost. Until that is noticed, routers go on sending
// requests to it. At the end it serves again, with an empty cache.
struct InstanceOutage {
    std::size_t instance = 0;
    Time begin;
    Time noticed;  // begin at least
    Time end;      // noticed at least
};

// Steps that begin in this time take `factor` times as long. Of several, the largest counts.
struct InstanceSlowdown {
    std::size_t instance = 0;
    Time begin;
    Time end;  // Time::max(): never
    double factor = 1;
};

// Where the keys and values of a request come from that ran on an instance that stopped.
enum class LostCache : std::uint8_t {
    // Another instance computes the prompt and the tokens that were generated
    // (vLLM: kv_load_failure_policy recompute).
    recompute,
    // The instance that computed the prompt has kept a copy in its host's memory, which is pulled
    // as the first time; only generated tokens are computed again.
    copy,
};

struct ServingFaults {
    std::vector<InstanceOutage> outages;  // those of one instance do not overlap
    std::vector<InstanceSlowdown> slowdowns;
    LostCache lost_cache = LostCache::recompute;
};

// What an outage did.
struct OutageEffect {
    std::int64_t moved_requests = 0;  // to other instances
    std::int64_t lost_tokens = 0;     // of their keys and values
};

}  // namespace orrery
