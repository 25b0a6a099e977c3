// SPDX-License-Identifier: Apache-2.0
// Statistics of samples that are all in memory. Two kinds of quantile: the nearest rank is one of
// the samples; the other one lies between two (Hyndman and Fan 1996, definitions 1 and 7).
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "engine/base/check.h"

namespace orrery {

// The least value that at least `percent` % of all do not exceed. `sorted` ascending, not empty.
template <class T>
const T& nearest_rank(const std::vector<T>& sorted, std::size_t percent) {
    ORRERY_CHECK(!sorted.empty() && percent <= 100);
    const std::size_t rank = (sorted.size() * percent + 99) / 100;
    return sorted[std::max<std::size_t>(rank, 1) - 1];
}

// The same for values in any order; T{} if there are none.
template <class T>
T nearest_rank_of(std::vector<T> values, std::size_t percent) {
    if (values.empty()) {
        return T{};
    }
    std::sort(values.begin(), values.end());
    return nearest_rank(values, percent);
}

// At `share` (0 to 1) of the way from the least to the greatest, linear between two neighbours.
// `sorted` ascending; zero of none.
double quantile(const std::vector<double>& sorted, double share);

// The quantile at one half of values in any order; zero of none.
double median(std::vector<double> values);

// The interquartile range over `middle`, divided by the 1.35 standard deviations that it is of a
// normal distribution: a relative standard deviation that outliers do not change.
double quartile_spread(const std::vector<double>& sorted, double middle);

}  // namespace orrery
