// SPDX-License-Identifier: Apache-2.0
// A process of a supervised training (orrery train --supervise starts it): trains as the rank that
// the supervisor orders, from the checkpoint that it names, again and again until it may quit.
#pragma once

#include "scenarios/program/train.h"

namespace orrery {

// Returns the exit status.
int train_member(const TrainArguments& arguments);

}  // namespace orrery
