// SPDX-License-Identifier: Apache-2.0
#include "kernels/vector_math.h"

#include <array>
#include <limits>

namespace orrery {
namespace {

using Lanes = std::array<float, kSumLanes>;

inline float tree_sum(Lanes& lanes) {
    for (std::size_t half = kSumLanes / 2; half > 0; half /= 2) {
        for (std::size_t i = 0; i < half; ++i) {
            lanes[i] += lanes[i + half];
        }
    }
    return lanes[0];
}

}  // namespace

ORRERY_VECTOR_CLONES float sum(std::span<const float> x) {
    Lanes lanes{};
    const std::size_t whole = x.size() / kSumLanes * kSumLanes;
    for (std::size_t i = 0; i < whole; i += kSumLanes) {
        for (std::size_t lane = 0; lane < kSumLanes; ++lane) {
            lanes[lane] += x[i + lane];
        }
    }
    for (std::size_t i = whole; i < x.size(); ++i) {
        lanes[i - whole] += x[i];
    }
    return tree_sum(lanes);
}

ORRERY_VECTOR_CLONES float dot(std::span<const float> x, std::span<const float> y) {
    Lanes lanes{};
    const std::size_t whole = x.size() / kSumLanes * kSumLanes;
    for (std::size_t i = 0; i < whole; i += kSumLanes) {
        for (std::size_t lane = 0; lane < kSumLanes; ++lane) {
            lanes[lane] += x[i + lane] * y[i + lane];
        }
    }
    for (std::size_t i = whole; i < x.size(); ++i) {
        lanes[i - whole] += x[i] * y[i];
    }
    return tree_sum(lanes);
}

ORRERY_VECTOR_CLONES float maximum(std::span<const float> x) {
    Lanes lanes;
    lanes.fill(-std::numeric_limits<float>::infinity());
    const std::size_t whole = x.size() / kSumLanes * kSumLanes;
    for (std::size_t i = 0; i < whole; i += kSumLanes) {
        for (std::size_t lane = 0; lane < kSumLanes; ++lane) {
            lanes[lane] = x[i + lane] > lanes[lane] ? x[i + lane] : lanes[lane];
        }
    }
    for (std::size_t i = whole; i < x.size(); ++i) {
        lanes[0] = x[i] > lanes[0] ? x[i] : lanes[0];
    }
    for (const float lane : lanes) {
        lanes[0] = lane > lanes[0] ? lane : lanes[0];
    }
    return lanes[0];
}

ORRERY_VECTOR_CLONES void add_to(std::span<float> y, std::span<const float> x) {
    for (std::size_t i = 0; i < y.size(); ++i) {
        y[i] += x[i];
    }
}

ORRERY_VECTOR_CLONES float exponentials(std::span<float> x, float shift) {
    for (float& value : x) {
        value = exponential(value - shift);
    }
    return sum(x);
}

}  // namespace orrery
