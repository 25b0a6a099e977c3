// SPDX-License-Identifier: Apache-2.0
// Random valid programs with a network and devices to run them on, from a seed. Free of deadlock by
// construction: a block is a list of events in one order, an event appends the ops of all its sides
// to their roles' segments, and a script of blocks becomes the slots. So program order on every
// rank follows one global order of events, and ops only wait on what is earlier in it.
#pragma once

#include <memory>
#include <string>

#include "engine/world/simulation.h"
#include "tests/reference/table_network.h"

namespace orrery::reference {

struct RandomCaseOptions {
    std::uint64_t seed = 1;
    std::uint32_t num_ranks = 16;  // about; the mesh rounds it
    std::uint32_t blocks = 4;
    std::uint32_t events_per_block = 8;
    std::uint32_t slots = 10;  // blocks in the script
    std::uint32_t steps = 2;
    // True: no slow rank, no hashed paths, no ragged groups, so that ranks can be folded.
    bool symmetric = false;
};

struct RandomCase {
    RandomCaseOptions options;
    Program program;
    TableNetworkShape network_shape;
    std::unique_ptr<TableNetwork> network;
    std::vector<DeviceTimings> devices;
    std::vector<std::uint16_t> device_class;
    Time launch_cost;

    // Points into this object. Traces every rank if `trace_all`, else rank 0 and the last.
    SimulationInput input(bool fold, bool trace_all) const;
    // "seed 7: 16 ranks, tp 2 cp 1 dp 4 pp 2, 3 streams, hashed, slow rank 5 …"
    std::string describe() const;
};

RandomCase random_case(const RandomCaseOptions& options);

}  // namespace orrery::reference
