// SPDX-License-Identifier: Apache-2.0
// `orrery keys`: the keys of a scenario with their values, defaults and meanings.
#pragma once

#include <string>

#include "scenarios/program/command.h"
#include "scenarios/program/views.h"

namespace orrery {

struct KeysArguments : ViewArguments {
    std::string name;     // "plan", "plan.micro_batch_size", "micro_batch_size", "mbs"; empty: all
    bool schema = false;  // of the kind of file `name`
};

int keys_command(const KeysArguments& arguments);

}  // namespace orrery
