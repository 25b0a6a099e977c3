// SPDX-License-Identifier: Apache-2.0
#include "engine/world/rate_alone.h"

namespace orrery {

Time time_without_contention(const TransferPlan& plan, std::span<const LinkInfo> links) {
    Time sum;
    for (const TransferPhase& phase : plan.phases) {
        Time longest;
        for (const TransferPart& part : phase.parts) {
            longest =
                std::max(longest, part.bytes / rate_alone(part.footprint, part.rate_max, links));
        }
        if (longest == Time::max()) {
            return longest;
        }
        sum += phase.latency + longest;
    }
    return sum;
}

}  // namespace orrery
