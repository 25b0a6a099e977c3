// SPDX-License-Identifier: Apache-2.0
// What a served load may have besides its instances: tiers below their caches, admission, instances
// that follow the load, and a limit on the power of a row.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/units.h"
#include "engine/serving/cache_tiers.h"

namespace orrery {

struct CacheTierSpec {
    TierKind kind = TierKind::dram;
    // Of a server. Zero: all memory of the server; drives have no such default.
    Bytes capacity{};
    EvictionPolicy eviction = EvictionPolicy::lru;
};

// Below the caches of the first pool.
struct LowerCacheSpec {
    std::vector<CacheTierSpec> tiers;  // the upper one first; empty: none
    TierWrites writes = TierWrites::evicted;
    TierLoading loading = TierLoading::layer_wise;
};

// Where an instance that starts gets its weights.
enum class WeightSource : std::uint8_t {
    disk,  // at serving.recovery.weight_loading
    peer,  // from another instance, by the adapters of its servers
};

struct AutoscalerSpec {
    std::string policy = "none";     // engine/serving/autoscaler.h
    std::int64_t min_instances = 1;  // the pool's instances are the most
    // rate: requests a second of an instance; queue: waiting requests of an instance; cache: share
    // of the caches in use; objectives: share of requests that meet them.
    double target = 1;
    Time interval = Time::seconds(10);          // between decisions
    Time scale_down_delay = Time::seconds(60);  // fewer were enough for that long
    WeightSource weights = WeightSource::disk;
};

// Power of a row of servers, and who slows down when it comes near its limit (Patel et al., POLCA,
// ASPLOS 2024).
struct RowPowerSpec {
    std::string policy = "none";  // engine/serving/power_policy.h
    double limit_watts = 0;       // of all servers of the instances together
    // Of the instances, those that serve work of low priority: the last ones.
    double low_priority_share = 0;
};

}  // namespace orrery
