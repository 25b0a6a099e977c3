// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/highest_rate.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <utility>

#include "engine/check.h"
#include "scenarios/studies/serve/slowdown.h"

namespace orrery {

namespace {

constexpr double kStep = 1.25;  // between rates that are tried before the bisection
constexpr int kBisections = 3;  // 1.25^(1/8): within 3 %
constexpr double kLeast = 0.01;
constexpr double kMost = 100;

bool all_met(const ServingAnswer& answer, const ServingObjectives& objectives) {
    const auto below = [](const LatencySummary& latency, Time objective) {
        return objective == Time{} || latency.p99 <= objective.seconds();
    };
    return answer.refused == 0 && (!answer.slowdowns || meets(*answer.slowdowns, objectives)) &&
           below(answer.ttft_s, objectives.ttft) && below(answer.tpot_s, objectives.tpot) &&
           below(answer.e2e_s, objectives.e2e);
}

std::vector<Request> stretched(std::vector<Request> requests, double factor) {
    for (Request& request : requests) {
        request.arrival = Time::seconds(request.arrival.seconds() / factor);
    }
    return requests;
}

}  // namespace

Result<HighestRate> find_highest_rate(const Scenario& scenario,
                                      const ServingSpec& spec,
                                      const std::vector<Request>& requests,
                                      const ServingObjectives& objectives) {
    const double stated = scenario.workload.request_rate;
    ORRERY_CHECK(stated > 0 && !requests.empty());
    // The idle instance is the same at each rate, and serves once.
    ServingSpec measured = spec;
    measured.objectives.ttft_slowdown = {};
    measured.objectives.tbt_slowdown = {};
    measured.objectives.e2e_slowdown = {};
    std::optional<ServingResult> alone;
    if (objectives.any_slowdown()) {
        auto served = serve_alone(scenario, spec, requests);
        if (!served) {
            return tl::unexpected(served.error());
        }
        alone = std::move(*served);
    }
    std::optional<HighestRate> best;
    double met = 0;     // shares of the stated rate: the largest that meets the objectives ...
    double missed = 0;  // ... and the smallest that does not
    const auto attempt = [&](double share) -> Result<bool> {
        ServingResult served;
        auto answer = serve_scenario(scenario, measured, stretched(requests, share), {}, &served);
        if (!answer) {
            return tl::unexpected(answer.error());
        }
        if (alone) {
            answer->slowdowns = slowdowns_of(served, *alone);
        }
        const bool good = all_met(*answer, objectives);
        (good ? met : missed) = share;
        if (good) {
            best = HighestRate{.rate = stated * share, .answer = std::move(*answer)};
        }
        return good;
    };
    const auto first = attempt(1);
    if (!first) {
        return tl::unexpected(first.error());
    }
    while (met == 0 || missed == 0) {
        const double share = met == 0 ? missed / kStep : met * kStep;
        const bool too_long = requests.back().arrival.seconds() / share > kLongestLoad_s;
        if (share < kLeast || too_long) {
            return fail(
                scenario.cluster_where,
                fmt::format("{:.3g} requests a second miss the objectives, too", stated * missed),
                "larger objectives, or a smaller model");
        }
        if (share > kMost) {
            return std::move(*best);
        }
        if (const auto tried = attempt(share); !tried) {
            return tl::unexpected(tried.error());
        }
    }
    for (int i = 0; i < kBisections; ++i) {
        if (const auto tried = attempt(std::sqrt(met * missed)); !tried) {
            return tl::unexpected(tried.error());
        }
    }
    return std::move(*best);
}

}  // namespace orrery
