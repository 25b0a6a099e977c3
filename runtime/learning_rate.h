// SPDX-License-Identifier: Apache-2.0
// The learning rate of a step: a linear warm-up from 0 to the largest rate, then a half cosine down
// to the smallest (Loshchilov and Hutter, arXiv 1608.03983, without restarts), as in Megatron-LM's
// --lr-decay-style cosine.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace orrery {

struct LearningRate {
    double largest = 1e-3;
    double smallest = 0;
    std::int64_t warmup_steps = 0;
    std::int64_t decay_steps = 1;  // the step that reaches the smallest rate

    // `step` counts from 1.
    double at(std::int64_t step) const {
        if (step <= warmup_steps) {
            return largest * static_cast<double>(step) / static_cast<double>(warmup_steps);
        }
        const auto span =
            static_cast<double>(std::max<std::int64_t>(1, decay_steps - warmup_steps));
        const double done = std::min(1.0, static_cast<double>(step - warmup_steps) / span);
        return smallest + (largest - smallest) * 0.5 * (1 + std::cos(std::numbers::pi * done));
    }
};

}  // namespace orrery
