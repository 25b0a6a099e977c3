// SPDX-License-Identifier: Apache-2.0
// The constant data of an execution: the programs as tapes, their transfers as planned by the
// network, the classes of ranks, links and transfers, and the durations of runs. Nothing here
// changes while the clock runs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/program/role_tape.h"
#include "engine/world/bundles.h"
#include "engine/world/folding.h"
#include "engine/world/kernel_runs.h"
#include "engine/world/local_times.h"
#include "engine/world/lockstep_groups.h"
#include "engine/world/simulation.h"
#include "engine/world/step_barrier.h"
#include "engine/world/transfers.h"

namespace orrery {

struct ExecutionPlan {
    // The program must have passed verify(). All footprints are registered with `rates`. The input
    // must outlive the plan. `alone`: no other program will ever load the links.
    ExecutionPlan(const SimulationInput& simulation, SharedRates& rates, bool alone = true);
    ExecutionPlan(const ExecutionPlan&) = delete;
    ExecutionPlan& operator=(const ExecutionPlan&) = delete;

    // The times of an item's run on a rank class if it has this device.
    const RunTimes& run(RankClassId r, std::uint16_t device, const TapeItem& item) const {
        if (item.loaded == kNotLoaded) {
            return run_times[device * tapes.shapes.size() + item.shape];
        }
        const RankClass& rank = quotient.ranks[r];
        const std::size_t in_tape = tapes.roles[index(rank.role)].loaded.size();
        return loaded_runs.of(r, rank.device, device, in_tape, item.loaded);
    }
    // A number for each distinct run.
    std::size_t number_of_run(const RunTimes& run) const {
        const RunTimes* const base = run_times.data();
        return &run >= base && &run < base + run_times.size()
                   ? static_cast<std::size_t>(&run - base)
                   : run_times.size() + static_cast<std::size_t>(&run - loaded_runs.runs.data());
    }
    const RunTimes& run_of_number(std::size_t number) const {
        return number < run_times.size() ? run_times[number]
                                         : loaded_runs.runs[number - run_times.size()];
    }
    std::span<const RankClassId> members_of_group(LockstepGroupId group) const {
        return groups.members_of(groups.groups[group]);
    }
    // The connection class of a connection of the rank class's role tape.
    ConnectionClassId connection_of(RankClassId r, std::uint32_t connection) const {
        return quotient.connection_of[quotient.ranks[r].first_connection + connection];
    }

    const SimulationInput& input;
    Tapes tapes;
    Transfers transfers;
    Quotient quotient;
    std::vector<RunTimes> run_times;  // from time_runs(): by device * number of shapes + shape
    LoadedRuns loaded_runs;
    LockstepGroups groups;
    LocalTimes local_times;
    Bundles bundles;
    std::vector<std::uint32_t> job_of_role;  // Program::job_of
};

}  // namespace orrery
