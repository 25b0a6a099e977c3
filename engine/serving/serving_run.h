// SPDX-License-Identifier: Apache-2.0
// Serves a workload in simulated time. Requests arrive, a router sends each to an instance, and
// every instance makes one step after the other with the cost of its batch. An instance with work
// is never idle. If an instance stops, its requests move elsewhere and lose their cache.
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

// A part of a prompt's keys and values: the interval [begin, end) of token-layers, out of tokens x
// layers. With one layer the unit is a token of the whole model.
struct CachePart {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::int64_t layers = 1;
};

// Moves keys and values between instances, and from tiers below their caches, over shared links. A
// request has one transfer at a time.
class CacheTransport {
public:
    virtual ~CacheTransport() = default;
    // Starts a load from the tiers to an instance of the first pool.
    virtual void load(Time now, const SequenceLoad& load, std::size_t to);
    // Starts a transfer from an instance that computes prompts to one that generates. `from` and
    // `to` are indices in their pools.
    virtual void start(
        Time now, RequestId request, std::size_t from, std::size_t to, const CachePart& part) = 0;
    // The end of the next transfer; Time::max() without transfers.
    virtual Time next_end() const = 0;
    // Appends the requests whose transfers end at `now`.
    virtual void pop_ended(Time now, std::vector<RequestId>& ended) = 0;
    // Cancels the transfer of this request, which must not have ended.
    virtual void cancel(Time now, RequestId request) = 0;
};

// Optional parts of a run. All of them must outlive the run.
struct ServingParts {
    // Tiers below the caches of the first pool. `hosts` is the host of each of its instances.
    CacheTiers* tiers = nullptr;
    std::vector<std::size_t> hosts{};
    CacheTransport* loads = nullptr;  // for the loads from the tiers
    // Rejected requests are refused. It needs `estimates` for each pool.
    const AdmissionPolicy* admission = nullptr;
    std::vector<StepEstimates*> estimates{};
    Scaling scaling{};
    RowPower power{};
    ServingObserver* observer = nullptr;
};

struct ServingLoad {
    // Open load: requests arrive at their arrival times, which must ascend. Closed load: each of
    // `users` users sends the next request when its last one has ended.
    std::int64_t users = 0;  // 0: an open load
    // Times of a request and of each token of its prompt in a front end, and the number of front
    // ends of all instances together (engine/serving/front_end.h).
    Time front_end{};
    Time front_end_token{};
    std::int64_t front_ends = 0;
    // Time of a response to a client, and its tokens (engine/serving/responses.h).
    Time response{};
    std::int64_t stream_interval = 1;
    bool slow_gaps = false;   // fill RequestRecord::slow_gap
    bool token_gaps = false;  // fill ServingResult::token_gaps
    // The run stops as soon as the 99th percentile of one of these times is certain to exceed its
    // bound; zero: no bound.
    struct Bounds {
        Time first_token;
        Time output_token;
        Time end_to_end;
    };
    Bounds bounds{};
    std::function<void(double)> progress{};  // called with the share of ended requests
};

struct ServingResult {
    std::vector<RequestRecord> records;     // by RequestId
    std::vector<InstanceTotals> instances;  // of the first pool, then of the second one
    std::vector<OutageEffect> outages;      // by ServingFaults::outages
    // The time for which each instance held its GPUs, from the decision to start it.
    std::vector<Time> instance_times;
    // The size of a scaled pool after each change.
    struct InstanceCount {
        Time at;
        std::size_t pool = 0;
        std::int64_t serving = 0;
    };
    std::vector<InstanceCount> instance_counts;
    RowTotals row;  // if the row has a limit
    // All times between two output tokens of a request, with ServingLoad::token_gaps.
    std::vector<Time> token_gaps;
    Time end;  // the last token
    // The run reached kLastInstant (engine/serving/run_clock.h) before its last request had ended.
    bool out_of_time = false;
    bool gave_up = false;  // because of ServingLoad::bounds
    std::int64_t events = 0;
    // Integral over time of the number of requests in the system. By Little's law it equals the sum
    // of the end-to-end times.
    __int128 request_picoseconds = 0;
};

// Runs until every request has ended or was refused, or until the end of the clock.
ServingResult serve(const std::vector<Request>& requests,
                    const ServingLoad& load,
                    const ServingPool& pool,
                    RequestRouter& router,
                    const ServingFaults& faults = {},
                    const ServingParts& parts = {});

// The same with prompts and generation on separate instances (Zhong et al., DistServe, OSDI 2024;
// Patel et al., Splitwise, ISCA 2024). A generating instance pulls the keys and values of a prompt
// once it has blocks for them. Until then the prompt keeps its own blocks.
struct SplitPools {
    ServingPool prompts;
    ServingPool generation;
    CacheTransport* transport = nullptr;  // must outlive the run
    // Prompts of at least this length leave layer by layer (layer_departures.cpp); 0: none. It must
    // be 0 in a run with faults.
    std::int64_t layer_wise_tokens = 0;
    // The generating instance sends the first token when the request joins its steps. false: the
    // prompt's instance sends it at once.
    bool streams_from_generation = false;
};
ServingResult serve(const std::vector<Request>& requests,
                    const ServingLoad& load,
                    const SplitPools& pools,
                    RequestRouter& prompt_router,
                    RequestRouter& generation_router,
                    const ServingFaults& faults = {},
                    const ServingParts& parts = {});

}  // namespace orrery
