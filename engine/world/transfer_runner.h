// SPDX-License-Identifier: Apache-2.0
// Moves data: a communication op arrives, its transfers begin when their last members have arrived,
// run through their phases and end, and with the last of them the op. Ends of transfers that share
// links come from SharedRates; others have an event each.
#pragma once

#include "engine/world/execution_part.h"
#include "engine/world/step_events.h"

namespace orrery {

class TransferRunner : ExecutionPart {
public:
    using ExecutionPart::ExecutionPart;

    // A stream gets to a communication op.
    void arrive(RankStreamId id, const TapeItem& item, Time now);
    // All members have arrived.
    void begin(OpenTransferId t, Time now);
    // The transfer's event has come: the end of a latency, of a part, or of all.
    void end_of_wait(OpenTransferId t, Time now);
    // Flows that have moved all their bytes.
    void end_flows(Time now);

    // Ends the part of one member, which may be led by another rank.
    void end_part_of_member(RankStreamId id, OpenTransferId t, Time now);
    // Ends the part of a leader, or of a rank on its own.
    void end_part(RankStreamId id, const OpenTransfer& transfer, Time now);

    // A flow of a transfer begins, on the path of its own or around an outage.
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
