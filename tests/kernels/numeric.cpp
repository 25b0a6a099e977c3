// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/numeric.h"

#include <cmath>

namespace orrery::numeric {

double relative_error(const Doubles& actual, const Doubles& expected) {
    EXPECT_EQ(actual.size(), expected.size());
    double difference = 0;
    double size = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        difference += (actual[i] - expected[i]) * (actual[i] - expected[i]);
        size += expected[i] * expected[i];
    }
    return size > 0 ? std::sqrt(difference / size) : std::sqrt(difference);
}

double distance(const Tensor& actual, const Doubles& expected) {
    EXPECT_EQ(static_cast<std::size_t>(actual.size()), expected.size());
    double sum = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const double difference = actual.at(static_cast<std::int64_t>(i)) - expected[i];
        sum += difference * difference;
    }
    return std::sqrt(sum);
}

Doubles numeric_gradient(const std::function<double(const Doubles&)>& loss, Doubles x) {
    constexpr double kStep = 1e-5;
    Doubles gradient;
    for (double& value : x) {
        const double here = value;
        value = here + kStep;
        const double above = loss(x);
        value = here - kStep;
        const double below = loss(x);
        value = here;
        gradient.push_back((above - below) / (2 * kStep));
    }
    return gradient;
}

}  // namespace orrery::numeric
