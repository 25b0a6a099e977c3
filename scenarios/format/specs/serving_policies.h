// SPDX-License-Identifier: Apache-2.0
// Optional parts of a served load: tiers below the caches, admission, autoscaling, and a limit on
// the power of a row.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/units.h"
#include "engine/serving/cache_tiers.h"

namespace orrery {

struct CacheTierSpec {
    TierKind kind = TierKind::dram;
    // Of a server. Zero: the whole memory of the server. Drives have no default.
    Bytes capacity{};
    EvictionPolicy eviction = EvictionPolicy::lru;
};

// Tiers below the caches of the first pool.
struct LowerCacheSpec {
    std::vector<CacheTierSpec> tiers;  // the fastest first; empty: none
    TierWrites writes = TierWrites::evicted;
    TierLoading loading = TierLoading::layer_wise;
};

// The source of the weights of a starting instance.
enum class WeightSource : std::uint8_t {
    disk,  // at serving.recovery.weight_loading
    peer,  // from another instance, over the servers' NICs
};

struct AutoscalerSpec {
    std::string policy = "none";     // engine/serving/autoscaler.h
    std::int64_t min_instances = 1;  // the pool's number of instances is the maximum
    // With rate: requests a second of an instance. With queue: waiting requests of an instance.
    // With cache: the used share of the caches. With objectives: the share of requests that meet
    // them.
    double target = 1;
    Time interval = Time::seconds(10);          // between decisions
    Time scale_down_delay = Time::seconds(60);  // time during which fewer would have been enough
    WeightSource weights = WeightSource::disk;
};

// The power limit of a row of servers, and the policy near the limit (Patel et al., POLCA, ASPLOS
// 2024).
struct RowPowerSpec {
    std::string policy = "none";  // engine/serving/power_policy.h
    double limit_watts = 0;       // of all servers of the instances together
    // The share of the instances that serve low-priority work; these are the last ones.
    double low_priority_share = 0;
};

}  // namespace orrery
