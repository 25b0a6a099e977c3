// SPDX-License-Identifier: Apache-2.0
// Serves a workload on a cluster in simulated time: latencies, throughput, and the use of time and
// cache.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/result.h"
#include "engine/serving/serving_run.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/format/specs/serving_spec.h"
#include "scenarios/studies/serve/layer_chain.h"
#include "scenarios/studies/serve/request_times.h"
#include "scenarios/studies/serve/synthetic_load.h"

namespace orrery {

// Of all served requests.
struct LatencySummary {
    double mean = 0;  // seconds
    double p50 = 0;
    double p90 = 0;
    double p99 = 0;
};

// Percentiles by nearest rank; zeros without values.
LatencySummary latency_summary(std::vector<double> seconds);

struct ServingAnswer {
    std::int64_t requests = 0;  // served requests
    std::int64_t refused = 0;
    std::int64_t rejected = 0;  // of these, refused by admission
    std::int64_t preemptions = 0;
    LatencySummary ttft_s;
    LatencySummary tpot_s;
    LatencySummary e2e_s;
    LatencySummary slow_gap_s;  // RequestRecord::slow_gap, if an objective needs it
    LatencySummary queued_s;  // from arrival to the first step
    std::array<LatencySummary, kRequestParts.size()> parts_s;  // by kRequestParts
    double output_tokens_per_s = 0;
    double requests_per_s = 0;
    // Requests a second that met every objective, and their share of all arrivals.
    double goodput = 0;
    double good_share = 0;
    Time makespan;            // from the first arrival to the last token
    double cached_share = 0;  // of all prompt tokens
    struct Pool {
        PoolRole role = PoolRole::aggregated;
        std::int64_t instances = 0;
        double busy = 0;        // share of the makespan in which the first stages computed
        double mean_batch = 0;  // computed tokens in a step
        std::int64_t batches = 0;
        std::int64_t cache_tokens = 0;       // capacity of an instance's cache
        std::int64_t most_cache_tokens = 0;  // in use at the same time, in the fullest instance
        std::int64_t drafted_tokens = 0;     // proposals of speculative decoding
        std::int64_t accepted_tokens = 0;    // accepted proposals
    };
    std::vector<Pool> pools;
    // Tiers below the caches of the first pool, the fastest first; in tokens of all servers.
    struct Tier {
        TierKind kind = TierKind::dram;
        std::int64_t capacity = 0;
        // Present at the same time, on the fullest server (for a pool: on all)
        std::int64_t most = 0;
        std::int64_t written = 0;
        std::int64_t loaded = 0;
        std::int64_t left = 0;  // evicted for others
    };
    // Pools with autoscaled instances.
    struct ScaledPool {
        PoolRole role = PoolRole::aggregated;
        Time start_up;
        std::int64_t least = 0;  // fewest serving instances
        std::int64_t most = 0;
        double mean = 0;
        // Seconds, and instances from then on
        std::vector<std::pair<double, std::int64_t>> timeline;
    };
    // All instances, if their power has a limit.
    struct Row {
        double mean_watts = 0;
        double peak_watts = 0;  // mean over two seconds
        double limit_watts = 0;
        std::int64_t capped = 0;  // number of times at which clocks were lowered
        std::int64_t brakes = 0;
    };
    std::optional<Row> row;
    std::vector<ScaledPool> scaled;
    // Instances that encode images for the pools.
    struct Encoder {
        std::int64_t instances = 0;
        std::int64_t images = 0;
        double busy = 0;    // share of the makespan
        double wait_s = 0;  // mean time until encoded, of requests with images
    };
    std::optional<Encoder> encoder;
    double gpu_hours = 0;  // of the instances, while they occupy their GPUs
    std::vector<Tier> tiers;
    double loaded_share = 0;   // of all prompt tokens
    std::int64_t loads = 0;    // of requests
    Bytes loaded;              // by GPUs, including copies of heads
    double load_s = 0;         // mean, from the decision to the last byte
    double exposed_load_s = 0;  // additional time of all steps together
    // Latencies over those of the same requests alone on an idle instance, if objectives name
    // slowdowns. For times between tokens, each percentile is divided by the idle instance's
    // percentile.
    struct Slowdowns {
        LatencySummary ttft;
        LatencySummary tbt;
        LatencySummary e2e;
    };
    std::optional<Slowdowns> slowdowns;
    // Faults before the last token.
    struct Fault {
        Time at;
        std::string what;                 // "node_crash at node:3"
        std::int64_t instances = 0;       // number of stopped or slowed instances
        double factor = 0;                // slowdown; 0: stopped
        std::optional<Time> noticed{};    // by the last of the stopped instances
        std::optional<Time> back{};       // all instances are back, or the fault has ended
        std::int64_t moved_requests = 0;  // to other instances
        std::int64_t lost_tokens = 0;     // tokens of the cache that are computed again
    };
    // For the GPUs of all instances, over the makespan; 0: no price or power is given.
    double cost_per_million_tokens = 0;  // output tokens
    double kwh_per_million_tokens = 0;
    std::vector<Fault> faults;
    double availability = 1;  // share of the time in which instances are up
    // Keys and values that moved between the pools.
    std::int64_t transfers = 0;
    Bytes transferred;
    double transfer_s = 0;  // mean, from the decision to the last byte
    std::vector<ChainNodeUse> chain;  // nodes of a chain of layers; empty without one
    double wall_s = 0;
    std::uint64_t seed = 0;
};

// The answer for requests that were served in simulated or real time by pools with these limits.
ServingAnswer serving_answer(const ServingResult& served,
                             const std::vector<Request>& requests,
                             const ServingSpec& spec,
                             std::span<const ServingPool> pools);

// Cluster, device and model are the scenario's. `result` gets every request's record and `observer`
// every step, unless they are null. The answer of a run that gave up is empty.
Result<ServingAnswer> serve_scenario(const Scenario& scenario,
                                     const ServingSpec& spec,
                                     const std::vector<Request>& requests,
                                     const ServingLoad& load,
                                     ServingResult* result = nullptr,
                                     ServingObserver* observer = nullptr);

}  // namespace orrery
