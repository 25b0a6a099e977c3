// SPDX-License-Identifier: Apache-2.0
// Distributions of times between faults and of repair times, sampled by inverse CDF (or Box-Muller)
// from a counter-based stream. The same stream gives a smaller time for a smaller scale. This
// couples two campaigns that differ in one parameter.
#pragma once

#include <cstdint>

#include "engine/base/counter_random.h"
#include "engine/base/wall_time.h"

namespace orrery {

enum class DistributionKind : std::uint8_t { fixed, exponential, weibull, lognormal };

struct Distribution {
    DistributionKind kind = DistributionKind::fixed;
    WallTime scale;    // fixed: the value; exponential: mean; Weibull: lambda; lognormal: median
    double shape = 1;  // Weibull: k; lognormal: sigma of the logarithm

    double mean_s() const;
    bool operator==(const Distribution&) const = default;
};

double sample_s(const Distribution& distribution, CounterRandom& random);
WallTime sample(const Distribution& distribution, CounterRandom& random);
// The probability that a sample is at most `seconds`.
double probability_within(const Distribution& distribution, double seconds);
// The expected number of failures in a span, if the component is new at the begin and each failed
// component is replaced by a new one: the renewal function, by Xie's method (Communications in
// Statistics 18, 1989). Only for the exponential distribution it is span over mean.
double expected_renewals(const Distribution& distribution, double span_s);
// The Weibull or lognormal distribution of this mean.
Distribution with_mean(DistributionKind kind, WallTime mean, double shape);

}  // namespace orrery
