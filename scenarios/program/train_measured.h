// SPDX-License-Identifier: Apache-2.0
// The steps of one rank of `orrery train`, with the time of every op.
#pragma once

#include "runtime/checkpoint_on_signal.h"
#include "runtime/trainer.h"
#include "runtime/world.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/program/train.h"
#include "scenarios/studies/train/training_run.h"

namespace orrery {

// Whether no rank has failed. If one has, the first reports its error, and `status` is the exit
// status.
bool all_well(ProcessWorld& world, const Errors& own, int& status);

// `reports` and the files of the run are ready. `status` is what the lines of the reports leave,
// too. Returns the exit status.
int train_measured(ProcessWorld& world,
                   const Scenario& scenario,
                   Trainer& trainer,
                   const Reports& reports,
                   const TrainArguments& arguments,
                   const CheckpointOnSignal& stop,
                   int& status);

}  // namespace orrery
