// SPDX-License-Identifier: Apache-2.0
// Serves a workload in simulated time: requests arrive, a router sends each to an instance, and
// every instance makes one step after the other, each as long as its batch costs. An instance that
// has work never idles. Instances may stop: their requests go elsewhere, and lose what was cached.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/serving/admission.h"
#include "engine/serving/autoscaler.h"
#include "engine/serving/instance_faults.h"
#include "engine/serving/power_policy.h"
#include "engine/serving/request.h"
#include "engine/serving/request_router.h"
#include "engine/serving/serving_observer.h"
#include "engine/serving/serving_pool.h"
#include "engine/serving/step_estimates.h"

namespace orrery {

// A part of a prompt's keys and values, from one count of tokens of one layer to another: all of
// them are tokens x layers. With one layer the counts are tokens of the whole model.
struct CachePart {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::int64_t layers = 1;
};

// Moves keys and values between instances, and from tiers below their caches, over whatever they
// share. A request has one transfer at a time.
class CacheTransport {
public:
    virtual ~CacheTransport() = default;
    // From the tiers to an instance of the first pool.
    virtual void load(Time now, const SequenceLoad& load, std::size_t to);
    // From an instance that computes prompts to one that generates, both counted in their pools.
    virtual void start(Time now,
                       RequestId request,
                       std::size_t from,
                       std::size_t to,
                       const CachePart& part) = 0;
    // The next end of a transfer under way, Time::max() without one.
    virtual Time next_end() const = 0;
    // Appends the requests whose transfers end at `now`.
    virtual void pop_ended(Time now, std::vector<RequestId>& ended) = 0;
    // Ends the transfer of this request, whose end lies ahead.
    virtual void cancel(Time now, RequestId request) = 0;
};

// What a run may have besides; all of it outlives the run.
struct ServingParts {
    // Below the caches of the first pool. `hosts` has the host of each of its instances.
    CacheTiers* tiers = nullptr;
    std::vector<std::size_t> hosts{};
    CacheTransport* loads = nullptr;  // of the tiers
    // Requests that it turns away are refused. `estimates` are then of each pool.
    const AdmissionPolicy* admission = nullptr;
    std::vector<StepEstimates*> estimates{};
    Scaling scaling{};
    RowPower power{};
    ServingObserver* observer = nullptr;
};

struct ServingLoad {
    // Open: requests come at their arrival times, in ascending order. Closed: `users` users send
    // the requests one after the other, each user the next one when its last has ended.
    std::int64_t users = 0;  // 0: an open load
    // Of a request, and how many the front ends of all instances handle at a time
    // (engine/serving/front_end.h).
    Time front_end{};
    std::int64_t front_ends = 0;
    bool slow_gaps = false;   // RequestRecord::slow_gap is wanted
    bool token_gaps = false;  // ServingResult::token_gaps is wanted
    // The run gives up as soon as the 99th percentile of one of these times is certain to be above
    // its bound; zero: no bound.
    struct Bounds {
        Time first_token;
        Time output_token;
        Time end_to_end;
    };
    Bounds bounds{};
    std::function<void(double)> progress{};  // gets the share of the requests that have ended
};

struct ServingResult {
    std::vector<RequestRecord> records;     // by RequestId
    std::vector<InstanceTotals> instances;  // of the first pool, then of the second one
    std::vector<OutageEffect> outages;      // of ServingFaults::outages, in their order
    // For how long each instance held its GPUs: since its start was decided.
    std::vector<Time> instance_times;
    // The size of a pool that follows its load, whenever it changes.
    struct InstanceCount {
        Time at;
        std::size_t pool = 0;
        std::int64_t serving = 0;
    };
    std::vector<InstanceCount> instance_counts;
    RowTotals row;  // where it has a limit
    // Every time between two output tokens of a request, where the load asks for them.
    std::vector<Time> token_gaps;
    Time end;  // the last token
    // The run came to kLastInstant (engine/serving/run_clock.h) before its last request had ended.
    bool out_of_time = false;
    bool gave_up = false;  // at ServingLoad::bounds
    std::int64_t events = 0;
    // Integral over time of the number of requests in the system. By Little's law it equals the sum
    // of the end-to-end times.
    __int128 request_picoseconds = 0;
};

// Runs until every request has ended or was refused, or until the clock ends.
ServingResult serve(const std::vector<Request>& requests,
                    const ServingLoad& load,
                    const ServingPool& pool,
                    RequestRouter& router,
                    const ServingFaults& faults = {},
                    const ServingParts& parts = {});

// The same with prompts and generation on instances of their own (Zhong et al., DistServe, OSDI
// 2024; Patel et al., Splitwise, ISCA 2024). An instance that generates pulls the keys and values
// of a prompt as soon as it has blocks for them; until then the prompt keeps its own.
struct SplitPools {
    ServingPool prompts;
    ServingPool generation;
    CacheTransport* transport = nullptr;  // outlives the run
    // The length from which prompts leave layer by layer (layer_departures.cpp); 0: none do.
    // It is 0 in a run with faults.
    std::int64_t layer_wise_tokens = 0;
};
ServingResult serve(const std::vector<Request>& requests,
                    const ServingLoad& load,
                    const SplitPools& pools,
                    RequestRouter& prompt_router,
                    RequestRouter& generation_router,
                    const ServingFaults& faults = {},
                    const ServingParts& parts = {});

}  // namespace orrery
