// SPDX-License-Identifier: Apache-2.0
// A Program written out in full: every op of every rank and step is an object of its own, with the
// ops that it waits on, when the host launches it, and the transfers that it takes part in
// (engine/world/simulation.h rules 1, 2, 3, 5, 6 and 9, as far as they do not depend on time).
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "engine/world/simulation.h"

namespace orrery::reference {

struct OpInstance {
    RankId rank{};
    std::uint32_t step = 0;
    std::uint32_t slot = 0;
    std::uint32_t position = 0;  // in the slot's segment
    const Op* op = nullptr;
    Time launch_offset{};                  // host_start(rank, step) + this = its launch
    std::vector<std::size_t> waits_on{};   // instances; the stream's previous op is one of them
    std::vector<std::size_t>
        transfers{};  // one of a collective or copy, one per part of a send_recv
    std::uint32_t sms = 0;                 // that it holds from start to end
    std::size_t kernel = 0;                // of a kernel: in DeviceTimings::kernels
    bool holds_host = false;               // a restart with tensors that the host has read
};

// One collective operation, one message, or one copy.
struct TransferInstance {
    const TransferPlan* plan = nullptr;  // null: a rank with itself, nothing moves
    std::size_t num_sides = 0;           // arrivals that it needs
    std::vector<std::size_t> ops;        // instances, one per side
};

struct ExpandedProgram {
    std::vector<OpInstance> ops;  // by step, rank, program order
    std::vector<TransferInstance> transfers;
    // By what determines them; a map, so that pointers to plans stay valid.
    // Call, first member, draw (engine/program/step_load.h).
    std::map<std::tuple<CollectiveId, RankId, std::uint32_t>, TransferPlan> collective_plans;
    // From, to, bytes, ranks of the communicator.
    std::map<std::tuple<RankId, RankId, Bytes, std::uint32_t>, TransferPlan> send_plans;
    std::map<std::pair<CopyId, RankId>, TransferPlan> copy_plans;
};

ExpandedProgram expand(const SimulationInput& input);

}  // namespace orrery::reference
