// SPDX-License-Identifier: Apache-2.0
#include "engine/faults/distribution.h"

#include <gtest/gtest.h>

#include <cmath>

namespace orrery {
namespace {

TEST(Distribution, SamplesHaveTheMeanThatTheFormulaSays) {
    const WallTime scale = WallTime::hours(3);
    for (const Distribution& d : {Distribution{DistributionKind::fixed, scale, 1},
                                  Distribution{DistributionKind::exponential, scale, 1},
                                  Distribution{DistributionKind::weibull, scale, 0.483},
                                  Distribution{DistributionKind::weibull, scale, 2.5},
                                  Distribution{DistributionKind::lognormal, scale, 0.8}}) {
        CounterRandom random{3, 1, static_cast<std::uint32_t>(d.kind)};
        constexpr int kDraws = 200000;
        double sum = 0;
        double squares = 0;
        for (int i = 0; i < kDraws; ++i) {
            const double x = sample_s(d, random);
            sum += x;
            squares += x * x;
        }
        const double mean = sum / kDraws;
        const double sigma = std::sqrt(std::max(0.0, squares / kDraws - mean * mean) / kDraws);
        EXPECT_NEAR(mean, d.mean_s(), 4 * sigma + 1e-6 * mean);
    }
}

TEST(Distribution, WithMeanHasThatMean) {
    const WallTime mean = WallTime::days(5.535);
    for (const DistributionKind kind :
         {DistributionKind::exponential, DistributionKind::weibull, DistributionKind::lognormal}) {
        EXPECT_NEAR(with_mean(kind, mean, 0.7).mean_s(), mean.seconds(), 1e-3);
    }
}

TEST(Distribution, TheSameStreamGivesLessForASmallerScale) {
    for (const DistributionKind kind :
         {DistributionKind::exponential, DistributionKind::weibull, DistributionKind::lognormal}) {
        CounterRandom a{1, 2, 3};
        CounterRandom b{1, 2, 3};
        for (int i = 0; i < 100; ++i) {
            EXPECT_LT(sample_s({kind, WallTime::hours(1), 0.9}, a),
                      sample_s({kind, WallTime::hours(2), 0.9}, b));
        }
    }
}

}  // namespace
}  // namespace orrery
