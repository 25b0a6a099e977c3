// SPDX-License-Identifier: Apache-2.0
// Accelerations::exclusive_connections. Moves what is alone on its links
// (engine/world/exclusive_connections.h) without the solver. Exact: the solver would give such a
// transfer its full rate until something shares a link with it, and from then on it is the
// solver's.
#pragma once

#include "engine/world/execution_part.h"

namespace orrery {

class ExclusiveTransfers : ExecutionPart {
public:
    using ExecutionPart::ExecutionPart;

    // Starts the transfer if it is alone; else it, and everything that shares links with it, are
    // flows, and false is returned.
    bool begin(OpenTransferId t, Time now);
    // Called for each transfer that can be slowed down, exclusive or not.
    void end(OpenTransferId t);

private:
    void become_flow(OpenTransferId t, Time now);
    void count_flow(ConnectionClassId connection, std::int32_t change);
};

}  // namespace orrery
