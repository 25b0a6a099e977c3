// SPDX-License-Identifier: Apache-2.0
// What a scenario's policies, faults and cluster are for a real job under a supervisor, and what a
// simulated campaign predicts for the very same: the same recovery machine, the same policies, the
// same faults at the same steps.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/faults/fault_process.h"
#include "runtime/measure/store_probe.h"
#include "runtime/supervisor/supervisor.h"
#include "scenarios/format/specs/scenario.h"

namespace orrery {

// The faults to inject, ordered: all processes must agree on their numbers.
std::vector<FaultEvent> drill_schedule(const Scenario& scenario);

// Whether and where ranks keep copies of the state in memories: for a peer's, or for a job that
// goes on with those who are left.
std::optional<PeerPlacement> memory_placement(const Scenario& scenario);

// The detection of a real run, whose ranks give up after job.distributed_timeout: the supervisor
// has to see a hang before, while it is known which rank waits for which. Without a watchdog there
// is one at three quarters of the timeout; a later one is an error at `path`.progress_watchdog.
Result<DetectionSpec> real_detection(DetectionSpec spec, Time timeout, const std::string& path);

// All but `command` and `line`. Errors where the scenario asks for what a real run can't do.
ResultOrErrors<SupervisedJob> supervised_job(const Scenario& scenario);

// Of the largest file that a rank has in a checkpoint.
std::int64_t state_bytes_of_rank(const Scenario& scenario);

// What a campaign of the same job says: the exchanges of its recovery machine. What processes,
// meetings and a trainer take follows from the run's first start, what its state takes from
// `store`, of a rank's file: `campaign.start_up` and `campaign.storage` are of GPUs.
std::vector<RecoveryExchange> predicted_log(const Scenario& scenario,
                                            const SupervisedJob& job,
                                            double step_s,
                                            const StartTimes& first = {},
                                            const StoreTimes& store = {});

// How long after it struck a fault of the drill is told, by the step that it strikes after: what
// ends is seen at once, what is silent after the heartbeat, what hangs after the watchdog.
std::map<std::int64_t, double> predicted_detection_s(const Scenario& scenario,
                                                     const SupervisedJob& job);

// A stop, as the log of a recovery machine tells it.
struct Incident {
    ObservationKind what = ObservationKind::node_ready;
    std::int64_t step = -1;  // reached
    std::vector<Action> actions;
    std::int64_t resumed_step = -1;  // -1: the log ends before
    std::int64_t begin_us = 0;       // told to the machine
    std::int64_t end_us = 0;         // training again
    std::int64_t lost_steps() const { return std::max<std::int64_t>(0, step - resumed_step); }
};
std::vector<Incident> incidents_of(const std::vector<RecoveryExchange>& log);

}  // namespace orrery
