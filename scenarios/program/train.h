// SPDX-License-Identifier: Apache-2.0
// `orrery train FILE`: reads a scenario with a dataset and trains its model for real, on the
// GPUs or the CPU of this machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "runtime/checkpoint_on_signal.h"
#include "runtime/data/token_file.h"
#include "runtime/state/run_claim.h"
#include "runtime/trainer.h"
#include "runtime/world.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/program/command.h"
#include "scenarios/studies/train/training_run.h"

namespace orrery {

struct TrainArguments {
    std::string file;
    std::vector<std::string> overrides;
    std::uint32_t num_processes = 1;  // started on this machine, one a rank
    std::string profile_file;         // measured times for the prediction; empty: none
    std::string written_profile;      // file for the measured kernel times; empty: none
    std::string record_folder;        // folder for the times of all ops; empty: none
    std::string trace_file;           // picture of the run beside the prediction; empty: none
    bool quiet = false;               // prints nothing but errors
    std::string device;               // "auto", "cpu", "cuda"; empty: job.device of the scenario
    bool supervise = false;           // start processes for all nodes and keep them alive
    std::string event_file;           // file for the supervisor's events; empty: none
    std::string hosts;  // hosts of the supervisor's nodes, as "one:2,two:2"; empty: this machine
    std::string launch = "ssh -o BatchMode=yes {host}";  // runs a command on a host
    bool resume = false;     // continue from the latest checkpoint of job.checkpoint_folder
    bool overwrite = false;  // overwrite the files of an earlier run
};

// Claims the files of the run for as long as the result lives (run_claim.h).
ResultOrErrors<RunClaim> claim_run(const TrainingJob& job, const TrainArguments& arguments);

// Returns the exit status.
int train_command(const TrainArguments& arguments);

// All options of `orrery train`.
std::vector<CommandOption> train_options(TrainArguments& arguments);

// One rank of `orrery train`; all ranks run it at the same time. It claims the run's files, begins
// or resumes, trains, and reports the end. One rank reports an error for all. Returns the exit
// status.
int train_rank(ProcessWorld& world,
               const Scenario& scenario,
               const Tokens& tokens,
               const TrainArguments& arguments,
               CheckpointOnSignal& stop);

// Returns whether no rank has failed. If ranks have failed, the first one reports its error, and
// `status` becomes the exit status.
bool all_well(ProcessWorld& world, const Errors& own, int& status);

// The steps of one rank, with the time of every op. `reports` and the files of the run must be
// ready. `status` becomes the status that the output of reports leaves. Returns the exit status.
int train_measured(ProcessWorld& world,
                   const Scenario& scenario,
                   Trainer& trainer,
                   const Reports& reports,
                   const TrainArguments& arguments,
                   const CheckpointOnSignal& stop,
                   int& status);

// A process of a supervised training (`orrery train --supervise` starts it). It trains as the rank
// and from the checkpoint that the supervisor orders, repeatedly, until the supervisor lets it end.
// Returns the exit status.
int train_member(const TrainArguments& arguments);

// `orrery train FILE --supervise`: keeps a training alive by the scenario's recovery policies. It
// compares the events with those of a simulated campaign with the same faults. Returns the exit
// status.
int supervise_training(const TrainArguments& arguments, const Scenario& scenario);

}  // namespace orrery
