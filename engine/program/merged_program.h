// SPDX-License-Identifier: Apache-2.0
// Merges several programs into one, so that they run at the same time on one network: the jobs of a
// cluster. Each program becomes a party and keeps the order of its ranks, its mesh, roles, groups
// and tensors.
#pragma once

#include <span>
#include <string>

#include "engine/program/program.h"

namespace orrery {

struct ProgramToMerge {
    std::string name;  // the party's name
    const Program* program = nullptr;
};

// Concatenates the ranks, roles, kernels and all other tables in the order of `programs`. Streams
// of equal name become one stream.
Program merge_programs(std::span<const ProgramToMerge> programs);

}  // namespace orrery
