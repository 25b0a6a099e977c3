// SPDX-License-Identifier: Apache-2.0
// Several programs as one, so that they run at the same time on one network: the jobs of a cluster.
// Each keeps its ranks' order, its mesh, roles, groups and tensors: it becomes a party.
#pragma once

#include <span>
#include <string>

#include "engine/program/program.h"

namespace orrery {

struct ProgramToMerge {
    std::string name;  // of its party
    const Program* program = nullptr;
};

// Ranks, roles, kernels and every other table follow each other in the order of `programs`; streams
// of the same name are one.
Program merge_programs(std::span<const ProgramToMerge> programs);

}  // namespace orrery
