// SPDX-License-Identifier: Apache-2.0
#include "engine/placed_network.h"

#include <utility>

#include "engine/check.h"

namespace orrery {

PlacedNetwork::PlacedNetwork(const NetworkModel& network, std::vector<RankId> place)
    : network_(network), place_(std::move(place)) {}

std::vector<RankId> PlacedNetwork::places(std::span<const RankId> members) const {
    std::vector<RankId> places;
    places.reserve(members.size());
    for (const RankId rank : members) {
        ORRERY_CHECK(places.empty() || places.back() < place(rank));
        places.push_back(place(rank));
    }
    return places;
}

TransferPlan PlacedNetwork::plan_collective(const CollectiveCall& call,
                                            std::span<const RankId> members) const {
    return network_.plan_collective(call, places(members));
}

TransferPlan PlacedNetwork::plan_send(RankId from, RankId to, Bytes bytes) const {
    return network_.plan_send(place(from), place(to), bytes);
}

std::vector<OtherPath> PlacedNetwork::paths_around(const CollectiveCall& call,
                                                   std::span<const RankId> members,
                                                   std::span<const std::uint8_t> down) const {
    return network_.paths_around(call, places(members), down);
}

std::vector<OtherPath> PlacedNetwork::paths_around(RankId from,
                                                   RankId to,
                                                   Bytes bytes,
                                                   std::span<const std::uint8_t> down) const {
    return network_.paths_around(place(from), place(to), bytes, down);
}

}  // namespace orrery
