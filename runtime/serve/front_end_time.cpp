// SPDX-License-Identifier: Apache-2.0
#include "runtime/serve/front_end_time.h"

#include <algorithm>

#include "engine/serving/serving_run.h"
#include "engine/statistics.h"
#include "runtime/serve/live_server.h"
#include "runtime/serve/replay_load.h"

namespace orrery {
namespace {

constexpr std::int64_t kProbes = 24;
// Long enough for the threads to sleep, as they do between requests of a load with gaps.
constexpr Time kGap = Time::seconds(0.015);

// One token each; an eighth of the context, a quarter, and half of it.
std::vector<Request> probe_requests(std::int64_t context) {
    std::vector<Request> requests;
    for (std::int64_t i = 0; i < kProbes; ++i) {
        const std::int64_t share = std::int64_t{8} >> (i % 3);
        requests.push_back({.arrival = kGap * (i + 1),
                            .prompt_tokens = std::max<std::int64_t>(1, context / share - 1),
                            .output_tokens = 1});
    }
    return requests;
}

}  // namespace

Result<Time> measured_front_end(const BatchingRules& rules,
                                const SchedulerLimits& limits,
                                const std::vector<DecodeStep*>& instances,
                                const MeasuredStepCost& cost,
                                const FrontEndProbes& probes) {
    SchedulerLimits uncached = limits;
    uncached.enable_prefix_caching = false;
    const std::int64_t longest = std::min(probes.context, limits.num_blocks * limits.block_size);
    const std::vector<Request> requests = probe_requests(longest);
    const auto prompts = drawn_prompts(requests, probes.vocabulary, probes.seed);
    const auto live_router = make_request_router("round_robin", probes.seed);
    LiveServer server{
        rules, uncached, {.context = probes.context, .salt = probes.seed}, instances, *live_router};
    const auto replayed = replay_load(server, requests, prompts, {});
    server.stop();
    if (!replayed) {
        return unexpected<Error>(replayed.error());
    }
    MeasuredStepCost steps = cost;
    const ServingPool pool{
        .num_instances = instances.size(), .rules = rules, .limits = uncached, .cost = &steps};
    const auto router = make_request_router("round_robin", probes.seed);
    const ServingResult predicted = serve(requests, {}, pool, *router);
    std::vector<double> beyond;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        const RequestRecord& record = replayed->result.records[i];
        if (record.finished() && predicted.records[i].finished()) {
            beyond.push_back(record.time_to_first_token().seconds() -
                             predicted.records[i].time_to_first_token().seconds());
        }
    }
    return beyond.empty() ? Time{} : Time::seconds(std::max(0.0, median(beyond)));
}

}  // namespace orrery
