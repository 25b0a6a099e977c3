// SPDX-License-Identifier: Apache-2.0
// Collects the links that a coupled transfer loads. A PartShape is a part of a transfer of unknown
// size: its progress is a fixed fraction of the collective's bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/program/network_model.h"
#include "network/fabric/path.h"

namespace orrery {

class FootprintBuilder {
public:
    void add(LinkId link, std::uint32_t count) { shares_.push_back({link, count}); }
    void add(const Path& path, std::uint32_t count) {
        for (const LinkId link : path.links) {
            add(link, count);
        }
    }
    // A connection of the transfer has no path over links that are up.
    void add_broken() { broken_ = true; }
    bool broken() const { return broken_; }
    // Returns ascending link ids, each once. Resets the builder.
    std::vector<LinkShare> take();

private:
    std::vector<LinkShare> shares_;
    bool broken_ = false;
};

struct PartShape {
    bool broken = false;  // it cannot progress
    std::vector<LinkShare> footprint;
    // Progress of this part = bytes of the collective / divisor, for each of `multiplicity` equal
    // channels. The counts of the footprint are sums over all of them.
    std::int64_t divisor = 1;
    std::uint32_t multiplicity = 1;
};

// `parts` has one part per kind of channel, with the counts of a single channel and the number of
// channels. Scales the counts, and merges channels with equal loads unless they stay `apart`. With
// `apart`, part i is the same channel whatever paths its connections take.
std::vector<PartShape> merged_channels(std::vector<PartShape> parts, bool apart = false);

}  // namespace orrery
