// SPDX-License-Identifier: Apache-2.0
// Passes of single kernels for tests of folded steps.
#pragma once

#include "engine/folded/folded_step.h"

namespace orrery::testing {

constexpr Time us(std::int64_t n) {
    return Time::picoseconds(n * 1'000'000);
}

// On a device of 100 SMs.
inline PassTiming pass_of(Time duration) {
    return {{PassOp{.duration = duration, .launch = 1}}, {}, 100};
}

}  // namespace orrery::testing
