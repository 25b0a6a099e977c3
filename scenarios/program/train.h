// SPDX-License-Identifier: Apache-2.0
// `orrery train FILE`: reads a scenario with a dataset and trains its model for real, on the
// GPUs or the CPU of this machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/result.h"
#include "runtime/state/run_claim.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/program/command.h"

namespace orrery {

struct TrainArguments {
    std::string file;
    std::vector<std::string> overrides;
    std::uint32_t num_processes = 1;  // started on this machine, one a rank
    std::string profile_file;         // measured times to predict with; empty: none
    std::string written_profile;      // the measured kernel times; empty: none
    std::string record_folder;        // where every op's times go; empty: nowhere
    std::string trace_file;           // picture of the run beside the prediction; empty: none
    bool quiet = false;               // prints nothing but errors
    std::string device;               // "auto", "cpu", "cuda"; empty: the scenario's job.device
    bool supervise = false;           // start processes for all nodes and keep them alive
    std::string event_file;           // of the supervisor; empty: none
    std::string hosts;                // of its nodes, as "one:2,two:2"; empty: this machine
    std::string launch = "ssh -o BatchMode=yes {host}";  // runs a command on one of them
    bool resume = false;     // from the latest checkpoint of job.checkpoint_folder
    bool overwrite = false;  // what an earlier run has left
};

// The run's own files, for as long as the claim lives (run_claim.h).
ResultOrErrors<RunClaim> claim_run(const TrainingJob& job, const TrainArguments& arguments);

// Returns the exit status.
int train_command(const TrainArguments& arguments);

}  // namespace orrery
