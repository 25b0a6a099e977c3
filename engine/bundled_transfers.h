// SPDX-License-Identifier: Apache-2.0
// Accelerations::bundles. Keeps one transfer and one flow for a bundle (engine/bundles.h). It lies
// on the bundle's first channel. It stands for one transfer on each channel as long as whole
// lockstep groups join it and all of them move alike. If not, those take its place. A group may
// come apart meanwhile: then its members end for themselves what they began together.
#pragma once

#include "engine/execution_part.h"

namespace orrery {

class BundledTransfers : ExecutionPart {
public:
    using ExecutionPart::ExecutionPart;

    // False if each rank that this one leads joins a transfer of its own.
    bool join(std::uint32_t id, const TapePart& part, Time now) {
        const std::uint32_t first = state_.streams[id].first_channel;
        const std::uint32_t c = plan_.quotient.channel_of[first + part.channel];
        return open_.channels[c].bundle != kNoBundle && join(open_.channels[c], id, part, now);
    }
    void end(std::uint32_t t, Time now);
    // After the rates are settled: bundles of which some flow was slower than the others.
    void split_parted();
    // After this each waiting op is found with its own state.
    void split_all();

private:
    bool join(const ChannelState& channel, std::uint32_t id, const TapePart& part, Time now);
    bool any_apart(const Bundle& bundle, std::uint32_t sequence) const;
    void split(std::uint32_t whole);

    std::vector<std::uint32_t> apart_;  // what took the place of a bundle's transfer
};

}  // namespace orrery
