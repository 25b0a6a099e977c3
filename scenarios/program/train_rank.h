// SPDX-License-Identifier: Apache-2.0
// One rank of `orrery train`, which all ranks run at the same time: claims the run's files, begins
// or resumes, trains, and tells the end. An error is reported by one rank for all.
#pragma once

#include "runtime/checkpoint_on_signal.h"
#include "runtime/data/token_file.h"
#include "runtime/world.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/program/train.h"

namespace orrery {

// Returns the exit status.
int train_rank(ProcessWorld& world,
               const Scenario& scenario,
               const Tokens& tokens,
               const TrainArguments& arguments,
               CheckpointOnSignal& stop);

}  // namespace orrery
