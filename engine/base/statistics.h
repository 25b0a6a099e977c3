// SPDX-License-Identifier: Apache-2.0
// Statistics of samples in memory. There are two kinds of quantile. The nearest rank is always one
// of the samples; `quantile` interpolates between two samples (Hyndman and Fan 1996, definitions 1
// and 7).
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "engine/base/check.h"

namespace orrery {

// The least sample that at least `percent` % of the samples do not exceed. `sorted` is ascending
// and not empty.
template <class T>
const T& nearest_rank(const std::vector<T>& sorted, std::size_t percent) {
    ORRERY_CHECK(!sorted.empty() && percent <= 100);
    const std::size_t rank = (sorted.size() * percent + 99) / 100;
    return sorted[std::max<std::size_t>(rank, 1) - 1];
}

// The same for samples in any order; T{} without samples.
template <class T>
T nearest_rank_of(std::vector<T> values, std::size_t percent) {
    if (values.empty()) {
        return T{};
    }
    std::sort(values.begin(), values.end());
    return nearest_rank(values, percent);
}

// The value at `share` (0 to 1) of the way from the least to the greatest sample, linear between
// neighbours. `sorted` is ascending; 0 without samples.
double quantile(const std::vector<double>& sorted, double share);

// The median of values in any order; 0 without values.
double median(std::vector<double> values);

// Mean of values and the sum of their squared differences to it; zeros without values.
struct Moments {
    double mean = 0;
    double squares = 0;
    std::size_t count = 0;

    // Standard deviation of the values themselves, and that of the population of which they are a
    // sample (0 for a single value).
    double deviation() const;
    double sample_deviation() const;
};
Moments moments(const std::vector<double>& values);

// The interquartile range divided by `middle` and by 1.35, the interquartile range of a normal
// distribution in standard deviations. It is a relative standard deviation that ignores outliers.
double quartile_spread(const std::vector<double>& sorted, double middle);

}  // namespace orrery
