// SPDX-License-Identifier: Apache-2.0
// Moves data. A communication op arrives. Each of its transfers begins when its last member has
// arrived, runs through its phases and ends. The op ends with its last transfer. SharedRates gives
// the ends of transfers that share links; the others have an event each.
#pragma once

#include "engine/world/execution_part.h"
#include "engine/world/step_events.h"

namespace orrery {

class TransferRunner : ExecutionPart {
public:
    using ExecutionPart::ExecutionPart;

    // A stream reaches a communication op.
    void arrive(RankStreamId id, const TapeItem& item, Time now);
    // All members have arrived.
    void begin(OpenTransferId t, Time now);
    // Handles the transfer's event: the end of a latency, of a part, or of the whole transfer.
    void end_of_wait(OpenTransferId t, Time now);
    // Ends the flows that complete at `now`.
    void end_flows(Time now);

    // Ends the part of one member, which may be a follower.
    void end_part_of_member(RankStreamId id, OpenTransferId t, Time now);
    // Ends the part of a leader, or of a rank without followers.
    void end_part(RankStreamId id, const OpenTransfer& transfer, Time now);

    // Records that `flow` belongs to a transfer, on its own path or on a path around an outage.
    void own_flow(OpenTransferId t, std::uint32_t part, FlowId flow, std::uint32_t path = kOwnPath);
    OpenTransferId owner_of(FlowId flow) const { return flow_owner_[index(flow)]; }
    void set_owner(FlowId flow, OpenTransferId t);

private:
    void join(RankStreamId id, const TapePart& part, Time now);
    void prefetch_transfers(RankClassId r, std::uint32_t connection) const;
    void go_on(OpenTransferId t, Time now);
    void start_parts(OpenTransferId t, Time now);
    void end(OpenTransferId t, Time now);

    std::vector<OpenTransferId> flow_owner_;  // by FlowId: the transfer
    std::vector<FlowId> ended_flows_;
    std::vector<OpenTransferId> ended_owners_;
};

}  // namespace orrery
