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

// All that a command line of `orrery train` can say.
std::vector<CommandOption> train_options(TrainArguments& arguments);

// One rank of `orrery train`, which all ranks run at the same time: claims the run's files, begins
// or resumes, trains, and tells the end. An error is reported by one rank for all.
// Returns the exit status.
int train_rank(ProcessWorld& world,
               const Scenario& scenario,
               const Tokens& tokens,
               const TrainArguments& arguments,
               CheckpointOnSignal& stop);

// Whether no rank has failed. If one has, the first reports its error, and `status` is the exit
// status.
bool all_well(ProcessWorld& world, const Errors& own, int& status);

// The steps of one rank, with the time of every op. `reports` and the files of the run are ready.
// `status` is what the lines of the reports leave, too. Returns the exit status.
int train_measured(ProcessWorld& world,
                   const Scenario& scenario,
                   Trainer& trainer,
                   const Reports& reports,
                   const TrainArguments& arguments,
                   const CheckpointOnSignal& stop,
                   int& status);

// A process of a supervised training (orrery train --supervise starts it): trains as the rank that
// the supervisor orders, from the checkpoint that it names, again and again until it may quit.
// Returns the exit status.
int train_member(const TrainArguments& arguments);

// `orrery train FILE --supervise`: keeps a training alive by the scenario's recovery policies, and
// shows what happened beside what a simulated campaign of the same faults predicts.
// Returns the exit status.
int supervise_training(const TrainArguments& arguments, const Scenario& scenario);

}  // namespace orrery
