// SPDX-License-Identifier: Apache-2.0
// Transfers that overlap with computation layer by layer: the keys and values of a layer move while
// another layer is computed (Patel et al., Splitwise, ISCA 2024; Qin et al., Mooncake, FAST 2025).
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/base/units.h"
#include "engine/serving/run_clock.h"

namespace orrery {

// L layers with computation c and transfer t each, one transfer at a time, take L c + t if t <= c,
// else c + L t, in either direction. The arguments are L c and L t.
inline Time layer_wise_time(Time computation, Time transfer, std::int64_t layers) {
    return bounded_sum(std::max(computation, transfer),
                       Time::picoseconds(std::min(computation, transfer).picoseconds() / layers));
}

}  // namespace orrery
