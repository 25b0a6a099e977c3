// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/read_distribution.h"

#include <gtest/gtest.h>

#include "tests/scenarios/sections.h"

namespace orrery {
namespace read_distribution_test {

std::optional<Distribution> distribution_of(const std::string& text) {
    Errors errors;
    const DocumentNode section = section_of("x: " + text);
    MapReader reader{section, "", errors};
    Distribution value;
    const bool good = read_distribution(reader, "x", value, errors);
    EXPECT_EQ(good, errors.empty()) << lines_of(errors);
    return good ? std::optional{value} : std::nullopt;
}

TEST(ReadDistribution, KnowsFourKinds) {
    EXPECT_EQ(distribution_of("5 d"), (Distribution{DistributionKind::fixed, WallTime::days(5)}));
    EXPECT_EQ(distribution_of("{mean: 5 d}"),
              (Distribution{DistributionKind::exponential, WallTime::days(5)}));
    EXPECT_EQ(distribution_of("{median: 5 d, sigma: 2}"),
              (Distribution{DistributionKind::lognormal, WallTime::days(5), 2}));
    EXPECT_NEAR(distribution_of("{mean: 5 d, shape: 0.5}")->mean_s(), 5 * 86400.0, 1e-3);
    EXPECT_NEAR(distribution_of("{mean: 5 d, sigma: 1.5}")->mean_s(), 5 * 86400.0, 1e-3);
}

TEST(ReadDistribution, RefusesWhatIsNone) {
    for (const char* text : {"5",
                             "0 s",
                             "{}",
                             "{median: 5 d}",
                             "{mean: 5 d, shape: 1, sigma: 1}",
                             "[5 d]",
                             "{mean: 5 d, mode: 3 d}"}) {
        Errors errors;
        const DocumentNode section = section_of(std::string{"x: "} + text);
        MapReader reader{section, "", errors};
        Distribution value;
        read_distribution(reader, "x", value, errors);
        EXPECT_FALSE(errors.empty()) << text;
    }
}

}  // namespace read_distribution_test
}  // namespace orrery
