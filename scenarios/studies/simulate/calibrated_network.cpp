// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/simulate/calibrated_network.h"

#include <cmath>

namespace orrery {

Bytes CalibratedNetwork::scaled(Bytes bytes) const {
    return Bytes{std::llround(static_cast<double>(bytes.count()) * factor_)};
}

TransferPlan CalibratedNetwork::plan(const TransferCall& call,
                                     std::span<const RankId> members) const {
    TransferPlan plan = network_.plan(call, members);
    for (TransferPhase& phase : plan.phases) {
        phase.latency = Time::seconds(phase.latency.seconds() * factor_);
        for (TransferPart& part : phase.parts) {
            part.bytes = scaled(part.bytes);
        }
    }
    return plan;
}

std::vector<OtherPath> CalibratedNetwork::paths_around(const TransferCall& call,
                                                       std::span<const RankId> members,
                                                       std::span<const std::uint8_t> down) const {
    std::vector<OtherPath> paths = network_.paths_around(call, members, down);
    for (OtherPath& path : paths) {
        path.part.bytes = scaled(path.part.bytes);
    }
    return paths;
}

}  // namespace orrery
