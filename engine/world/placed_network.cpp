// SPDX-License-Identifier: Apache-2.0
#include "engine/world/placed_network.h"

#include <utility>

#include "engine/base/check.h"

namespace orrery {

PlacedNetwork::PlacedNetwork(const NetworkModel& network, std::vector<RankId> place)
    : ForwardedNetwork(network), place_(std::move(place)) {}

std::vector<RankId> PlacedNetwork::places(const TransferCall& call,
                                          std::span<const RankId> members) const {
    const bool ascending = std::holds_alternative<CollectiveCall>(call);
    std::vector<RankId> places;
    places.reserve(members.size());
    for (const RankId rank : members) {
        ORRERY_CHECK(!ascending || places.empty() || places.back() < place(rank));
        places.push_back(place(rank));
    }
    return places;
}

TransferPlan PlacedNetwork::plan(const TransferCall& call, std::span<const RankId> members) const {
    return network_.plan(call, places(call, members));
}

std::vector<OtherPath> PlacedNetwork::paths_around(const TransferCall& call,
                                                   std::span<const RankId> members,
                                                   std::span<const std::uint8_t> down) const {
    return network_.paths_around(call, places(call, members), down);
}

}  // namespace orrery
