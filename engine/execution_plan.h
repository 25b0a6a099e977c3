// SPDX-License-Identifier: Apache-2.0
// What an execution knows before its clock starts: the programs as tapes, their transfers as the
// network plans them, which ranks, links and transfers stand for others, and how long runs take.
// Nothing here changes while the clock runs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/bundles.h"
#include "engine/folding.h"
#include "engine/kernel_runs.h"
#include "engine/local_times.h"
#include "engine/lockstep_groups.h"
#include "engine/role_tape.h"
#include "engine/simulation.h"
#include "engine/step_barrier.h"
#include "engine/transfers.h"

namespace orrery {

struct ExecutionPlan {
    // The program must have passed verify(). `rates` gets to know all footprints. The input has to
    // outlive the plan. `alone`: no other program ever loads the links.
    ExecutionPlan(const SimulationInput& simulation, SharedRates& rates, bool alone = true);
    ExecutionPlan(const ExecutionPlan&) = delete;
    ExecutionPlan& operator=(const ExecutionPlan&) = delete;

    // Of a run of `shape` on a device.
    const RunTimes& run(std::uint16_t device, std::uint32_t shape) const {
        return run_times[device * tapes.shapes.size() + shape];
    }
    std::span<const RankClassId> members_of_group(LockstepGroupId group) const {
        return groups.members_of(groups.groups[group]);
    }
    // Of a rank class, by a connection of its role's tape: the connection class.
    ConnectionClassId connection_of(RankClassId r, std::uint32_t connection) const {
        return quotient.connection_of[quotient.ranks[r].first_connection + connection];
    }

    const SimulationInput& input;
    Tapes tapes;
    Transfers transfers;
    Quotient quotient;
    std::vector<RunTimes> run_times;  // as time_runs() gives them
    LockstepGroups groups;
    LocalTimes local_times;
    Bundles bundles;
    std::vector<std::uint32_t> job_of_role;  // Program::job_of
};

}  // namespace orrery
