// SPDX-License-Identifier: Apache-2.0
// `orrery reproduce [NAME…]`: simulates published systems, with a verdict for each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/program/views.h"

namespace orrery {

struct ReproduceArguments : ViewArguments {
    std::vector<std::string> names;  // of reproductions, or files; empty: all reproductions
    bool list = false;               // list the reproductions without simulating
    std::uint32_t jobs = 0;          // simulations at the same time; 0: one a core
};

int reproduce_command(const ReproduceArguments& arguments);

}  // namespace orrery
