// SPDX-License-Identifier: Apache-2.0
// Faults of serving instances. Instances are numbered over all pools of a run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/base/units.h"

namespace orrery {

// An instance stops and loses its key-value cache. Until the outage is noticed, routers still send
// requests to it. At the end it serves again with an empty cache.
struct InstanceOutage {
    std::size_t instance = 0;
    Time begin;
    Time noticed;  // not before `begin`
    Time end;      // not before `noticed`
};

// Steps that begin in this interval take `factor` times as long. If several overlap, the largest
// factor counts.
struct InstanceSlowdown {
    std::size_t instance = 0;
    Time begin;
    Time end;  // Time::max(): never
    double factor = 1;
};

// The source of keys and values for requests of a stopped instance.
enum class LostCache : std::uint8_t {
    // Another instance computes the prompt and the generated tokens again (vLLM:
    // kv_load_failure_policy recompute).
    recompute,
    // The instance that computed the prompt has kept a copy in its host's memory, which is pulled
    // again; only the generated tokens are recomputed.
    copy,
};

struct ServingFaults {
    std::vector<InstanceOutage> outages;  // outages of one instance must not overlap
    std::vector<InstanceSlowdown> slowdowns;
    LostCache lost_cache = LostCache::recompute;
};

// The effect of an outage.
struct OutageEffect {
    std::int64_t moved_requests = 0;  // to other instances
    std::int64_t lost_tokens = 0;     // keys and values lost, in tokens
};

}  // namespace orrery
