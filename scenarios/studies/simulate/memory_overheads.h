// SPDX-License-Identifier: Apache-2.0
// What a process takes of its GPU's memory beside the planned arena: the driver's part, the CUDA
// context with the libraries' code, NCCL's buffers, and what PyTorch's caching allocator holds in
// fragments. The facts are rows of scenarios/catalogue/memory_overheads.csv, whose second column
// names a device.
//
// A communicator of NCCL has buffers for what it receives in each channel: of 4 MiB, 512 KiB and
// 4,800 KiB for its three protocols (src/include/device.h). It connects rings and trees, whichever
// it will use, as it starts; from version 2.22 on it waits until it uses them, so this is the most.
// A ring receives from one rank, a tree from a parent and two children, of which a server's ranks
// have one. What leaves through a network has a buffer of its own. Four H100 of a server get 0.65
// GiB; a job of that kind had 0.59 GiB beside PyTorch's and the context's (aqlaboratory/openfold,
// issue 481). Messages between pipeline stages have few channels and are left out.
#pragma once

#include "engine/base/result.h"
#include "engine/program/network_model.h"
#include "engine/program/program.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/studies/simulate/answer.h"

namespace orrery {

// The buffers of all communicators of a rank.
Bytes nccl_buffers(const Program& program,
                   const ClusterSpec& cluster,
                   const NetworkModel& network,
                   RankId rank);

// `planned`, the plan's memory of the fullest GPU, with the host's and the overheads; all count in
// `fits`. A CPU's process has no overheads. Error: the catalogue's table cannot be read.
Result<MemoryUse> whole_memory_use(const Program& program,
                                   const Scenario& scenario,
                                   const NetworkModel& network,
                                   MemoryUse planned);
// For a scenario that is not simulated.
Result<MemoryUse> whole_memory_use(const Program& program, const Scenario& scenario);

}  // namespace orrery
