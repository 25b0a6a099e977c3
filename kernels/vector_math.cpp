// SPDX-License-Identifier: Apache-2.0
#include "kernels/vector_math.h"

#include <array>
#include <limits>

#include "kernels/vector_clones.h"

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

float sum(std::span<const float> x) {
    return run_vectorised(
        [](std::span<const float> v) ORRERY_VECTORISED {
            Lanes lanes{};
            const std::size_t whole = v.size() / kSumLanes * kSumLanes;
            for (std::size_t i = 0; i < whole; i += kSumLanes) {
                for (std::size_t lane = 0; lane < kSumLanes; ++lane) {
                    lanes[lane] += v[i + lane];
                }
            }
            for (std::size_t i = whole; i < v.size(); ++i) {
                lanes[i - whole] += v[i];
            }
            return tree_sum(lanes);
        },
        x);
}

float dot(std::span<const float> x, std::span<const float> y) {
    return run_vectorised(
        [](std::span<const float> v, std::span<const float> w) ORRERY_VECTORISED {
            Lanes lanes{};
            const std::size_t whole = v.size() / kSumLanes * kSumLanes;
            for (std::size_t i = 0; i < whole; i += kSumLanes) {
                for (std::size_t lane = 0; lane < kSumLanes; ++lane) {
                    lanes[lane] += v[i + lane] * w[i + lane];
                }
            }
            for (std::size_t i = whole; i < v.size(); ++i) {
                lanes[i - whole] += v[i] * w[i];
            }
            return tree_sum(lanes);
        },
        x,
        y);
}

float maximum(std::span<const float> x) {
    return run_vectorised(
        [](std::span<const float> v) ORRERY_VECTORISED {
            Lanes lanes;
            lanes.fill(-std::numeric_limits<float>::infinity());
            const std::size_t whole = v.size() / kSumLanes * kSumLanes;
            for (std::size_t i = 0; i < whole; i += kSumLanes) {
                for (std::size_t lane = 0; lane < kSumLanes; ++lane) {
                    lanes[lane] = v[i + lane] > lanes[lane] ? v[i + lane] : lanes[lane];
                }
            }
            for (std::size_t i = whole; i < v.size(); ++i) {
                lanes[0] = v[i] > lanes[0] ? v[i] : lanes[0];
            }
            for (const float lane : lanes) {
                lanes[0] = lane > lanes[0] ? lane : lanes[0];
            }
            return lanes[0];
        },
        x);
}

void add_to(std::span<float> y, std::span<const float> x) {
    run_vectorised(
        [](std::span<float> to, std::span<const float> from) ORRERY_VECTORISED {
            for (std::size_t i = 0; i < to.size(); ++i) {
                to[i] += from[i];
            }
        },
        y,
        x);
}

float exponentials(std::span<float> x, float shift) {
    run_vectorised(
        [](std::span<float> values, float by) ORRERY_VECTORISED {
            for (float& value : values) {
                value = exponential(value - by);
            }
        },
        x,
        shift);
    return sum(x);
}

}  // namespace orrery
