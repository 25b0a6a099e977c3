// SPDX-License-Identifier: Apache-2.0
// `orrery train FILE --supervise`: keeps a training alive by the scenario's recovery policies, and
// shows what happened beside what a simulated campaign of the same faults predicts.
#pragma once

#include "scenarios/program/train.h"

namespace orrery {

// Returns the exit status.
int supervise_training(const TrainArguments& arguments, const Scenario& scenario);

}  // namespace orrery
