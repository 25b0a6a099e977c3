// SPDX-License-Identifier: Apache-2.0
#include "engine/faults/distribution.h"

#include <cmath>

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

}  // namespace

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
