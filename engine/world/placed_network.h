// SPDX-License-Identifier: Apache-2.0
// A network whose ranks are placed on the ranks (GPUs) of another network. Several ranks may have
// the same GPU: programs that take turns on a GPU of a world (engine/world/world.h) are parties of
// their own and share its links.
#pragma once

#include <vector>

#include "engine/world/forwarded_network.h"

namespace orrery {

class PlacedNetwork final : public ForwardedNetwork {
public:
    // `place` is the rank in `network`, by rank. `network` must outlive this object. The members of
    // a group must have distinct places, in the order of the group.
    PlacedNetwork(const NetworkModel& network, std::vector<RankId> place);

    TransferPlan plan(const TransferCall& call, std::span<const RankId> members) const override;
    std::vector<OtherPath> paths_around(const TransferCall& call,
                                        std::span<const RankId> members,
                                        std::span<const std::uint8_t> down) const override;

private:
    RankId place(RankId rank) const { return place_[index(rank)]; }
    std::vector<RankId> places(const TransferCall& call, std::span<const RankId> members) const;

    std::vector<RankId> place_;
};

}  // namespace orrery
