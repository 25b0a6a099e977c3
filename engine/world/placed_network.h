// SPDX-License-Identifier: Apache-2.0
// A network whose ranks stand on the ranks (GPUs) of another one. Several ranks may stand on one
// GPU: so the programs that a world (engine/world/world.h) runs there in turn share its links, each
// as a party of its own.
#pragma once

#include <vector>

#include "engine/world/forwarded_network.h"

namespace orrery {

class PlacedNetwork final : public ForwardedNetwork {
public:
    // `place` by rank: where it stands in `network`, which has to outlive this one. The members of
    // a group stand in the order of their ranks, each somewhere else.
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
