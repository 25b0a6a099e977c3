// SPDX-License-Identifier: Apache-2.0
// All that a command line of `orrery train` can say.
#pragma once

#include <vector>

#include "scenarios/program/train.h"

namespace orrery {

std::vector<CommandOption> train_options(TrainArguments& arguments);

}  // namespace orrery
