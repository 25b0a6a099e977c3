// SPDX-License-Identifier: Apache-2.0
// The event loop of the simulated executor over rank classes (engine/world/folding.h), and its
// parts. Each part is a class that can be read alone. The parts share the clock and the tables of
// ranks and open transfers. Nothing is computed between events.
//
//   StreamRunner        the next item of a stream, and the earliest time of its start
//   KernelRunner        runs of kernels, and SMs
//   TransferRunner      communication: arrivals, phases, ends
//   PartyRuns           steps and runs of the parties
//   StepEventEffects    devices and links that change in the middle of a step
//   ExclusiveTransfers, BundledTransfers, Lockstep, LocalClocks
//                       accelerations (engine/world/simulation.h): each may be switched off
#pragma once

#include <optional>

#include "engine/world/bundled_transfers.h"
#include "engine/world/exclusive_transfers.h"
#include "engine/world/execution_plan.h"
#include "engine/world/kernel_runner.h"
#include "engine/world/local_clocks.h"
#include "engine/world/lockstep.h"
#include "engine/world/open_transfers.h"
#include "engine/world/party_runs.h"
#include "engine/world/rank_states.h"
#include "engine/world/simulation_clock.h"
#include "engine/world/step_event_effects.h"
#include "engine/world/step_log.h"
#include "engine/world/stream_runner.h"
#include "engine/world/transfer_runner.h"

namespace orrery {

struct Execution {
    Execution(const ExecutionPlan& plan_of_programs, SharedRates& rates);

    // Runs until a run has ended (PartyRuns::any_ended) or no run is left. False if runs are left
    // but no progress is possible.
    bool run_to_next_end();

    // The same in steps, for a world in which other executions share the rates. next_time() is the
    // next instant of this execution, apart from ends of flows. happen_at() processes an instant.
    // take_new_rates() follows a settle() of the rates. give_up() prepares the reports after a
    // deadlock or a hang.
    Time next_time() const;
    void happen_at(Time now);
    void take_new_rates();
    void give_up();

    // Gives each rank class a state of its own and adds the counted runs to `log`, for reports. The
    // execution may continue afterwards.
    void make_results();

    const ExecutionPlan& plan;
    SimulationClock clock;
    RankStates state;
    OpenTransfers open;
    StepLog log;

    StreamRunner streams;
    KernelRunner kernels;
    TransferRunner transfers;
    PartyRuns runs;
    StepEventEffects events;

    ExclusiveTransfers exclusive;
    BundledTransfers bundles;
    LocalClocks clocks;
    Lockstep lockstep;

private:
    void process(Time now);
    void handle(const Event& event, Time now);
    void prefetch(const Event& event) const;
};

}  // namespace orrery
