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

TEST(Distribution, RenewalsAreThoseOfManySamples) {
    for (const Distribution& d :
         {Distribution{DistributionKind::exponential, WallTime::days(9), 1},
          Distribution{DistributionKind::weibull, WallTime::days(40), 0.6},
          Distribution{DistributionKind::weibull, WallTime::days(9), 2.5},
          Distribution{DistributionKind::lognormal, WallTime::days(9), 0.8}}) {
        const double span = WallTime::days(30).seconds();
        constexpr int kComponents = 20000;
        double sum = 0;
        double squares = 0;
        for (std::uint32_t i = 0; i < kComponents; ++i) {
            CounterRandom random{i, 7, static_cast<std::uint32_t>(d.kind)};
            int count = 0;
            for (double at = sample_s(d, random); at < span; at += sample_s(d, random)) {
                ++count;
            }
            sum += count;
            squares += count * count;
        }
        const double mean = sum / kComponents;
        const double sigma = std::sqrt((squares / kComponents - mean * mean) / kComponents);
        EXPECT_NEAR(expected_renewals(d, span), mean, 4 * sigma) << d.shape;
    }
}

// New components of a Weibull process with a falling rate fail more often than in the long run:
// 128 servers, mean 17,520 h, shape 0.7, 30 days. First failures alone are 15.19.
TEST(Distribution, NewComponentsFailMoreOftenThanOldOnes) {
    const Distribution d = with_mean(DistributionKind::weibull, WallTime::hours(17520), 0.7);
    const double span = WallTime::days(30).seconds();
    EXPECT_NEAR(128 * expected_renewals(d, span), 16.5, 0.05);
    EXPECT_NEAR(128 * span / d.mean_s(), 5.26, 0.01);
    // After a long time only how it began is left of that.
    const double far = 1000 * d.mean_s();
    EXPECT_NEAR(expected_renewals(d, far) - 1000, 0.5 * (2.1390 - 1), 0.01);
    EXPECT_EQ(expected_renewals(d, 0), 0);
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
