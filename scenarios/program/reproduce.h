// SPDX-License-Identifier: Apache-2.0
// `orrery reproduce [NAME…]`: published systems, simulated again, with a verdict for each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/program/views.h"

namespace orrery {

struct ReproduceArguments : ViewArguments {
    std::vector<std::string> names;  // of rooms, or files; none: all rooms
    bool list = false;               // of the rooms, without simulating
    std::uint32_t jobs = 0;          // simulations at a time; 0: one a core
};

int reproduce_command(const ReproduceArguments& arguments);

}  // namespace orrery
