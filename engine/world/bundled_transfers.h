// SPDX-License-Identifier: Apache-2.0
// Accelerations::bundles. Keeps one transfer and one flow for a bundle (engine/world/bundles.h). It
// lies on the bundle's first connection. It stands for one transfer on each connection as long as
// whole lockstep groups join it and all of them move alike. If not, those take its place. A group
// may come apart meanwhile: then its members end for themselves what they began together.
#pragma once

#include "engine/world/execution_part.h"

namespace orrery {

class BundledTransfers : ExecutionPart {
public:
    using ExecutionPart::ExecutionPart;

    // False if each rank that this one leads joins a transfer of its own.
    bool join(RankStreamId id, const TapePart& part, Time now) {
        const std::uint32_t first = state_.streams[id].first_connection;
        const ConnectionClassId c = plan_.quotient.connection_of[first + part.connection];
        return open_.connections[c].bundle != kNoBundle &&
               join(open_.connections[c], id, part, now);
    }
    void end(OpenTransferId t, Time now);
    // After the rates are settled: bundles of which some flow was slower than the others.
    void split_parted();
    // After this each waiting op is found with its own state.
    void split_all();

private:
    bool join(const ConnectionState& connection, RankStreamId id, const TapePart& part, Time now);
    bool any_apart(const Bundle& bundle, std::uint32_t sequence) const;
    void split(OpenTransferId whole);

    std::vector<OpenTransferId> apart_;  // what took the place of a bundle's transfer
};

}  // namespace orrery
