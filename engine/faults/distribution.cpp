// SPDX-License-Identifier: Apache-2.0
#include "engine/faults/distribution.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace orrery {
namespace {

// Mean over scale.
double mean_ratio(DistributionKind kind, double shape) {
    switch (kind) {
        case DistributionKind::weibull:
            return std::tgamma(1 + 1 / shape);
        case DistributionKind::lognormal:
            return std::exp(0.5 * shape * shape);
        default:
            return 1;
    }
}

// Variance over squared mean.
double squared_variation(const Distribution& d) {
    switch (d.kind) {
        case DistributionKind::weibull: {
            const double mean = std::tgamma(1 + 1 / d.shape);
            return std::tgamma(1 + 2 / d.shape) / (mean * mean) - 1;
        }
        case DistributionKind::lognormal:
            return std::expm1(d.shape * d.shape);
        default:
            return 0;
    }
}

// M(t) = F(t) + integral of F(t - x) dM(x), on a grid with F at the middles of its parts.
double renewals_on_a_grid(const Distribution& d, double span_s) {
    constexpr std::size_t kParts = 1000;
    const double part = span_s / kParts;
    std::vector<double> middle(kParts + 1);  // F((i - 1/2) * width of a part)
    for (std::size_t i = 1; i <= kParts; ++i) {
        middle[i] = probability_within(d, (static_cast<double>(i) - 0.5) * part);
    }
    std::vector<double> mean(kParts + 1, 0.0);
    for (std::size_t i = 1; i <= kParts; ++i) {
        double sum = probability_within(d, static_cast<double>(i) * part);
        for (std::size_t j = 1; j < i; ++j) {
            sum += middle[i - j + 1] * (mean[j] - mean[j - 1]);
        }
        mean[i] = (sum - middle[1] * mean[i - 1]) / (1 - middle[1]);
    }
    return mean[kParts];
}

}  // namespace

double probability_within(const Distribution& distribution, double seconds) {
    const double scale = distribution.scale.seconds();
    if (seconds <= 0 || scale <= 0) {
        return seconds > 0 ? 1 : 0;
    }
    switch (distribution.kind) {
        case DistributionKind::exponential:
            return -std::expm1(-seconds / scale);
        case DistributionKind::weibull:
            return -std::expm1(-std::pow(seconds / scale, distribution.shape));
        case DistributionKind::lognormal:
            return 0.5 *
                   std::erfc(-std::log(seconds / scale) / (distribution.shape * std::sqrt(2.0)));
        default:
            return seconds >= scale ? 1 : 0;
    }
}

double expected_renewals(const Distribution& distribution, double span_s) {
    const double mean = distribution.mean_s();
    if (mean <= 0 || span_s <= 0) {
        return 0;
    }
    const bool ages = distribution.kind == DistributionKind::weibull ||
                      distribution.kind == DistributionKind::lognormal;
    if (!ages) {
        return span_s / mean;
    }
    // Long after the begin, the effect of the new component at the begin is a constant.
    const double variation = squared_variation(distribution);
    const double renewals = span_s / mean;
    if (renewals > 100 * std::max(1.0, variation)) {
        return renewals + (variation - 1) / 2;
    }
    return renewals_on_a_grid(distribution, span_s);
}

double Distribution::mean_s() const {
    return scale.seconds() * mean_ratio(kind, shape);
}

double sample_s(const Distribution& distribution, CounterRandom& random) {
    const double scale = distribution.scale.seconds();
    switch (distribution.kind) {
        case DistributionKind::exponential:
            return scale * random.exponential();
        case DistributionKind::weibull:
            return scale * std::pow(random.exponential(), 1 / distribution.shape);
        case DistributionKind::lognormal:
            return scale * std::exp(distribution.shape * random.normal());
        default:
            return scale;
    }
}

WallTime sample(const Distribution& distribution, CounterRandom& random) {
    return WallTime::seconds(sample_s(distribution, random));
}

Distribution with_mean(DistributionKind kind, WallTime mean, double shape) {
    return {.kind = kind,
            .scale = WallTime::seconds(mean.seconds() / mean_ratio(kind, shape)),
            .shape = shape};
}

}  // namespace orrery
