// SPDX-License-Identifier: Apache-2.0
// Accelerations::exclusive_connections: moves transfers that have their links to themselves
// (engine/world/exclusive_connections.h) without the solver. The result is exact: the solver would
// give such a transfer its full rate. As soon as another transfer shares a link, the solver takes
// over.
#pragma once

#include "engine/world/execution_part.h"

namespace orrery {

class ExclusiveTransfers : ExecutionPart {
public:
    using ExecutionPart::ExecutionPart;

    // Starts the transfer and returns true if it has its links to itself. Otherwise the transfer
    // and its neighbours become flows, and the result is false.
    bool begin(OpenTransferId t, Time now);
    // Call it at the end of each transfer that contention can slow down, exclusive or not.
    void end(OpenTransferId t);

private:
    void become_flow(OpenTransferId t, Time now);
    void count_flow(ConnectionClassId connection, std::int32_t change);
};

}  // namespace orrery
