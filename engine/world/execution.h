// SPDX-License-Identifier: Apache-2.0
// The event loop of the simulated executor over rank classes (engine/world/folding.h), and its
// parts. Each part is a class that reads by itself; what they share is the clock and the tables of
// ranks and of open transfers. Between events nothing is computed.
//
//   StreamRunner        which item of a stream is next, and when it may start
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

    // Goes on until a run has ended (PartyRuns::any_ended) or none is left. False if no progress is
    // possible although runs are left.
    bool run_to_next_end();

    // The same in steps, for a world in which other executions share the rates: when something
    // happens next but ends of flows, what happens at an instant, what follows new rates, and that
    // nothing will ever happen again.
    Time next_time() const;
    void happen_at(Time now);
    void take_new_rates();
    void give_up();

    // Gives each rank class its own state, and `log` its sums: for reports. The execution may go
    // on.
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
