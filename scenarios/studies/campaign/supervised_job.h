// SPDX-License-Identifier: Apache-2.0
// A scenario's policies, faults and cluster as a real job under a supervisor, and the prediction
// for the same job by a simulated campaign: the same recovery machine, the same policies, the same
// faults at the same steps.
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

// The faults to inject, in an order that is equal in all processes, because they refer to faults by
// number.
std::vector<FaultEvent> drill_schedule(const Scenario& scenario);

// The placement of copies of the state in memories, if the scenario's policies need one: for a
// peer, or for a job that continues with the remaining ranks.
std::optional<PeerPlacement> memory_placement(const Scenario& scenario);

// The detection of a real run, whose ranks give up after job.distributed_timeout. The supervisor
// must notice a hang earlier, while it is known which rank waits for which rank. The default
// watchdog is three quarters of the timeout; a later one is an error at `path`.progress_watchdog.
Result<DetectionSpec> real_detection(DetectionSpec spec, Time timeout, const std::string& path);

// All fields but `command` and `line`. Errors: features of the scenario that a real run does not
// have.
ResultOrErrors<SupervisedJob> supervised_job(const Scenario& scenario);

// The bytes of the largest file of a rank in a checkpoint.
std::int64_t state_bytes_of_rank(const Scenario& scenario);

// The prediction of a campaign for the same job: the exchanges of its recovery machine. The times
// of processes, rendezvous and trainer are those of the run's first start, and those of the state
// follow from `store` and a rank's file. `campaign.start_up` and `campaign.storage` are not used,
// because they describe GPUs.
std::vector<RecoveryExchange> predicted_log(const Scenario& scenario,
                                            const SupervisedJob& job,
                                            double step_s,
                                            const StartTimes& first = {},
                                            const StoreTimes& store = {});

// The time from a drill's fault to its report, by the step after which it strikes. The end of a
// process is seen at once, silence after the heartbeat, and a hang after the watchdog.
std::map<std::int64_t, double> predicted_detection_s(const Scenario& scenario,
                                                     const SupervisedJob& job);

// A stop in the log of a recovery machine.
struct Incident {
    ObservationKind what = ObservationKind::node_ready;
    std::int64_t step = -1;  // the step reached
    std::vector<Action> actions;
    std::int64_t resumed_step = -1;  // -1: the log ends before
    std::int64_t begin_us = 0;       // reported to the machine
    std::int64_t end_us = 0;         // training resumed
    std::int64_t lost_steps() const { return std::max<std::int64_t>(0, step - resumed_step); }
};
std::vector<Incident> incidents_of(const std::vector<RecoveryExchange>& log);

}  // namespace orrery
