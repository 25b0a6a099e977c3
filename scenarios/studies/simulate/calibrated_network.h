// SPDX-License-Identifier: Apache-2.0
// A network whose transfers take a constant factor times their predicted time (the communication of
// a calibration). Latency and bytes are both scaled, so that transfers still share links.
#pragma once

#include "engine/world/forwarded_network.h"

namespace orrery {

class CalibratedNetwork final : public ForwardedNetwork {
public:
    // `network` must outlive the object.
    CalibratedNetwork(const NetworkModel& network, double factor)
        : ForwardedNetwork(network), factor_(factor) {}

    TransferPlan plan(const TransferCall& call, std::span<const RankId> members) const override;
    std::vector<OtherPath> paths_around(const TransferCall& call,
                                        std::span<const RankId> members,
                                        std::span<const std::uint8_t> down) const override;

private:
    Bytes scaled(Bytes bytes) const;

    double factor_;
};

}  // namespace orrery
