// SPDX-License-Identifier: Apache-2.0
// The peers of ranks that send messages to another party (pipeline stages with different
// tensor-parallel sizes, prefill and decode). The peer follows by arithmetic. A rank's place in its
// party splits into coordinates, like the digits of a mesh, and each coordinate is a distance in
// the other party.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "engine/base/ids.h"

namespace orrery {

struct PeerTerm {
    std::uint32_t stride = 1;  // coordinate = place / stride % size
    std::uint32_t size = 1;
    std::uint32_t peer_stride = 1;  // distance in the other party between neighbouring coordinates
    auto operator<=>(const PeerTerm&) const = default;
};

struct PeerMap {
    RankId first{};  // the peer of the rank whose coordinates are all 0
    std::vector<PeerTerm> terms{};
    auto operator<=>(const PeerMap&) const = default;

    // `place` is the rank's index in its party, from 0.
    RankId peer_of(std::uint32_t place) const {
        std::size_t peer = index(first);
        for (const PeerTerm& term : terms) {
            peer += std::size_t{place / term.stride % term.size} * term.peer_stride;
        }
        return to_id<RankId>(peer);
    }
};

}  // namespace orrery
