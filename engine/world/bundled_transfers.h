// SPDX-License-Identifier: Apache-2.0
// Accelerations::bundles: one transfer and one flow for a whole bundle (engine/world/bundles.h),
// kept on the bundle's first connection. It represents one transfer on each connection while whole
// lockstep groups join it and all flows have equal rates. Otherwise separate transfers replace it.
// If a group separates while the transfer is in flight, the members end the common transfer one by
// one.
#pragma once

#include "engine/world/execution_part.h"

namespace orrery {

class BundledTransfers : ExecutionPart {
public:
    using ExecutionPart::ExecutionPart;

    // Joins the bundle's transfer. False if each rank of this leader must join a transfer of its
    // own.
    bool join(RankStreamId id, const TapePart& part, Time now) {
        const std::uint32_t first = state_.streams[id].first_connection;
        const ConnectionClassId c = plan_.quotient.connection_of[first + part.connection];
        return open_.connections[c].bundle != kNoBundle &&
               join(open_.connections[c], id, part, now);
    }
    void end(OpenTransferId t, Time now);
    // Call it after the rates are settled. Splits each bundle with a flow slower than the others.
    void split_parted();
    // Splits all bundles, so that each member's state shows which ops wait.
    void split_all();

private:
    bool join(const ConnectionState& connection, RankStreamId id, const TapePart& part, Time now);
    bool any_apart(const Bundle& bundle, std::uint32_t sequence) const;
    void split(OpenTransferId whole);

    std::vector<OpenTransferId> apart_;  // the transfers that replace a bundle's transfer
};

}  // namespace orrery
