// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/numpy_draws.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

using Numbers = std::vector<std::int64_t>;

// numpy.random.seed(1); numpy.random.randint(1, 1001, size=5)
TEST(NumpyDraws, AreThoseOfNumpysLegacyGenerator) {
    std::mt19937 generator{1};
    EXPECT_EQ(numpy_integers(generator, 1, 1000, 5), (Numbers{38, 236, 909, 73, 768}));
}

TEST(NumpyDraws, ContinueWhereTheLastOnesEnded) {
    std::mt19937 generator{1};
    numpy_integers(generator, 1, 1000, 2);
    EXPECT_EQ(numpy_integers(generator, 1, 1000, 3), (Numbers{909, 73, 768}));
}

TEST(NumpyDraws, OfOneNumberDrawNothing) {
    std::mt19937 generator{1};
    EXPECT_EQ(numpy_integers(generator, 7, 7, 3), (Numbers{7, 7, 7}));
    EXPECT_EQ(numpy_integers(generator, 1, 1000, 1), Numbers{38});
}

}  // namespace
}  // namespace orrery
