// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/highest_rate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "engine/base/check.h"
#include "scenarios/studies/serve/slowdown.h"

namespace orrery {

namespace {

constexpr double kStep = 1.25;  // factor between the rates that are tried before the bisection
constexpr double kLeast = 0.01;

bool all_met(const ServingAnswer& answer, const ServingObjectives& objectives) {
    const auto below = [](const LatencySummary& latency, Time objective) {
        return objective == Time{} || latency.p99 <= objective.seconds();
    };
    return answer.refused == 0 && (!answer.slowdowns || meets(*answer.slowdowns, objectives)) &&
           below(answer.ttft_s, objectives.ttft) && below(answer.tpot_s, objectives.tpot) &&
           below(answer.e2e_s, objectives.e2e) && below(answer.slow_gap_s, objectives.tbt);
}

std::vector<Request> stretched(std::vector<Request> requests, double factor) {
    for (Request& request : requests) {
        request.arrival = Time::seconds(request.arrival.seconds() / factor);
    }
    return requests;
}

// Searches the share of the stated rate: the largest that meets the objectives, and the smallest
// that misses one.
class RateSearch {
public:
    RateSearch(const Scenario& scenario,
               const ServingSpec& spec,
               const std::vector<Request>& requests,
               const ServingObjectives& objectives,
               double most = kMostShare)
        : scenario_(scenario),
          spec_(spec),
          requests_(requests),
          objectives_(objectives),
          most_(most) {
        ORRERY_CHECK(scenario.workload.request_rate > 0 && !requests.empty());
        // The slowdowns compare with an idle instance, which serves alike at every rate: begin()
        // runs it once.
        spec_.objectives.ttft_slowdown = {};
        spec_.objectives.tbt_slowdown = {};
        spec_.objectives.e2e_slowdown = {};
    }

    Result<void> begin() {
        if (objectives_.any_slowdown()) {
            auto served = serve_alone(scenario_, spec_, requests_);
            if (!served) {
                return tl::unexpected(served.error());
            }
            alone_ = std::move(*served);
        }
        return {};
    }

    // Serves the load at this share of the stated rate. Whether the objectives are met.
    Result<bool> attempt(double share) {
        ServingResult served;
        const ServingLoad load{.bounds = {.first_token = objectives_.ttft,
                                          .output_token = objectives_.tpot,
                                          .end_to_end = objectives_.e2e}};
        auto answer = serve_scenario(scenario_, spec_, stretched(requests_, share), load, &served);
        if (!answer) {
            return tl::unexpected(answer.error());
        }
        if (served.gave_up) {
            missed_ = share;
            return false;
        }
        if (alone_) {
            answer->slowdowns = slowdowns_of(served, *alone_);
        }
        return judge(share, std::move(*answer));
    }

    // The same for a share whose answer is known.
    bool judge(double share, ServingAnswer answer) {
        const bool good = all_met(answer, objectives_);
        (good ? met_ : missed_) = share;
        if (good) {
            best_ = HighestRate{.rate = scenario_.workload.request_rate * share,
                                .answer = std::move(answer)};
        }
        return good;
    }

    // Call after the first attempt.
    Result<HighestRate> finish(int bisections) {
        while (met_ == 0 || missed_ == 0) {
            if (met_ >= most_) {
                return std::move(*best_);
            }
            const double share = met_ == 0 ? missed_ / kStep : std::min(met_ * kStep, most_);
            const bool too_long = requests_.back().arrival.seconds() / share > kLongestLoad_s;
            if (share < kLeast || too_long) {
                return fail(scenario_.cluster_where,
                            fmt::format("{:.3g} requests a second miss the objectives, too",
                                        scenario_.workload.request_rate * missed_),
                            "larger objectives, or a smaller model");
            }
            if (const auto tried = attempt(share); !tried) {
                return tl::unexpected(tried.error());
            }
        }
        for (int i = 0; i < bisections; ++i) {
            if (const auto tried = attempt(std::sqrt(met_ * missed_)); !tried) {
                return tl::unexpected(tried.error());
            }
        }
        return std::move(*best_);
    }

private:
    const Scenario& scenario_;
    ServingSpec spec_;
    const std::vector<Request>& requests_;
    const ServingObjectives& objectives_;
    double most_;  // largest share that is tried
    std::optional<ServingResult> alone_;
    std::optional<HighestRate> best_;
    double met_ = 0;
    double missed_ = 0;
};

}  // namespace

Result<HighestRate> find_highest_rate(const Scenario& scenario,
                                      const ServingSpec& spec,
                                      const std::vector<Request>& requests,
                                      const ServingObjectives& objectives,
                                      int bisections,
                                      double most,
                                      const ServingAnswer* at_stated_rate) {
    RateSearch search(scenario, spec, requests, objectives, most);
    if (const auto begun = search.begin(); !begun) {
        return tl::unexpected(begun.error());
    }
    if (at_stated_rate != nullptr && !objectives.any_slowdown()) {
        search.judge(1, *at_stated_rate);
    } else if (const auto first = search.attempt(1); !first) {
        return tl::unexpected(first.error());
    }
    return search.finish(bisections);
}

Result<std::optional<HighestRate>> find_higher_rate(const Scenario& scenario,
                                                    const ServingSpec& spec,
                                                    const std::vector<Request>& requests,
                                                    const ServingObjectives& objectives,
                                                    double rate) {
    RateSearch search(scenario, spec, requests, objectives);
    if (const auto begun = search.begin(); !begun) {
        return tl::unexpected(begun.error());
    }
    const auto first = search.attempt(rate / scenario.workload.request_rate);
    if (!first) {
        return tl::unexpected(first.error());
    }
    if (!*first) {
        return std::nullopt;
    }
    auto found = search.finish(kRateBisections);
    if (!found) {
        return tl::unexpected(found.error());
    }
    return std::move(*found);
}

}  // namespace orrery
