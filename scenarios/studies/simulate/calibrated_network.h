// SPDX-License-Identifier: Apache-2.0
// A network whose transfers take a factor of their predicted time each (the communication of a
// calibration): start-up and bytes are scaled, so transfers that share links still share them.
#pragma once

#include "engine/network_model.h"

namespace orrery {

class CalibratedNetwork final : public NetworkModel {
public:
    // `network` must outlive it.
    CalibratedNetwork(const NetworkModel& network, double factor)
        : network_(network), factor_(factor) {}

    TransferPlan plan(const TransferCall& call, std::span<const RankId> members) const override;
    std::vector<OtherPath> paths_around(const TransferCall& call,
                                        std::span<const RankId> members,
                                        std::span<const std::uint8_t> down) const override;
    std::span<const LinkInfo> links() const override { return network_.links(); }
    std::span<const std::string> link_class_names() const override {
        return network_.link_class_names();
    }
    bool has_contention() const override { return network_.has_contention(); }

private:
    Bytes scaled(Bytes bytes) const;

    const NetworkModel& network_;
    double factor_;
};

}  // namespace orrery
