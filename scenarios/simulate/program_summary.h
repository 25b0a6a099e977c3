// SPDX-License-Identifier: Apache-2.0
// What an answer says about a Program whether or not it is run: its collectives and its memory.
#pragma once

#include <vector>

#include "engine/network_model.h"
#include "engine/program.h"
#include "kernels/device_spec.h"
#include "scenarios/answer.h"

namespace orrery {

// The first rank of each role.
std::vector<RankId> role_representatives(const Program& program);

// Those of one step, merged by what is called, the largest volume first.
std::vector<CollectiveUse> collective_uses(const Program& program, const NetworkModel& network);

// Of the role that needs most: its memory plan and the libraries' workspace.
MemoryUse memory_use(const Program& program, const DeviceSpec& device);

}  // namespace orrery
