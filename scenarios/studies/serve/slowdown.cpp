// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/slowdown.h"

#include <utility>

#include "engine/base/check.h"

namespace orrery {

Result<ServingResult> serve_alone(const Scenario& scenario,
                                  const ServingSpec& spec,
                                  const std::vector<Request>& requests) {
    ServingSpec alone = spec;
    alone.objectives = {};
    alone.pools = {spec.pools.front()};
    alone.pools.front().role = PoolRole::aggregated;
    alone.pools.front().instances = 1;
    ServingResult result;
    const ServingLoad load{.users = 1};
    const auto answer = serve_scenario(scenario, alone, requests, load, &result);
    if (!answer) {
        return tl::unexpected(answer.error());
    }
    return result;
}

ServingAnswer::Slowdowns slowdowns_of(const ServingResult& served, const ServingResult& alone) {
    ORRERY_CHECK(served.records.size() == alone.records.size());
    std::vector<double> ttft;
    std::vector<double> tbt;
    std::vector<double> e2e;
    for (std::size_t i = 0; i < served.records.size(); ++i) {
        const RequestRecord& one = served.records[i];
        const RequestRecord& idle = alone.records[i];
        if (one.finished() && idle.finished()) {
            ttft.push_back(one.time_to_first_token() / idle.time_to_first_token());
            e2e.push_back(one.end_to_end() / idle.end_to_end());
            if (idle.time_per_output_token() > Time{}) {
                tbt.push_back(one.time_per_output_token() / idle.time_per_output_token());
            }
        }
    }
    return {.ttft = latency_summary(std::move(ttft)),
            .tbt = latency_summary(std::move(tbt)),
            .e2e = latency_summary(std::move(e2e))};
}

bool meets(const ServingAnswer::Slowdowns& slowdowns, const ServingObjectives& objectives) {
    const auto below = [](const LatencySummary& found, const SlowdownObjective& wanted) {
        const auto reached = [](double ratio, double most) { return most == 0 || ratio <= most; };
        return reached(found.p50, wanted.p50) && reached(found.p90, wanted.p90) &&
               reached(found.p99, wanted.p99);
    };
    return below(slowdowns.ttft, objectives.ttft_slowdown) &&
           below(slowdowns.tbt, objectives.tbt_slowdown) &&
           below(slowdowns.e2e, objectives.e2e_slowdown);
}

}  // namespace orrery
