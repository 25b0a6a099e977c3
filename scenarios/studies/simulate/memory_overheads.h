// SPDX-License-Identifier: Apache-2.0
// Memory of a process on its GPU outside the planned arena: the driver's part, the CUDA context
// with the libraries' code, NCCL's buffers, and fragments in PyTorch's caching allocator. The facts
// are rows of scenarios/catalogue/memory_overheads.csv, whose second column names a device.
//
// A communicator of NCCL has receive buffers for each channel and peer: 4 MiB, 512 KiB and 4,800
// KiB for its three protocols (src/include/device.h). It connects both rings and trees at its
// start; from version 2.22 on at their first use, so that this is an upper bound. A rank receives
// from one peer in a ring, and from a parent and two children in a tree (inside a server from a
// parent and one child); of two ranks, each has one peer in a tree. Data that leave through a
// network have a buffer of their own. Four H100 of a server get 0.65 GiB; such a job had 0.59 GiB
// beside PyTorch's memory and the context (aqlaboratory/openfold, issue 481).
//
// Messages have connections of their own, with the same buffers, on several channels to each peer
// of the server (src/enqueue.cc connects them all before a peer's first message;
// src/transport/p2p.cc, p2pRecvSetup): for an all-to-all of eight H100 2 GiB. Messages over a
// network share a few buffers and are left out. A group that only sends messages has a communicator
// like the others, with rings and trees.
//
// Each process group of PyTorch has a communicator (torch.distributed.new_group), and frameworks
// make a group for each axis, also of the same ranks (DeepSpeed's parallel_state_sp.py,
// Megatron-LM's parallel_state.py). XLA finds a communicator by its ranks. PyTorch's default group
// has a communicator of all ranks: frameworks call barrier() in it at their start (Megatron-LM's
// initialize.py, DeepSpeed's and torchtitan's). Its channels are assumed to be those of the widest
// group that spans servers. A group of all ranks is counted as the default one, which it is for
// some frameworks.
#pragma once

#include "engine/base/result.h"
#include "engine/program/network_model.h"
#include "engine/program/program.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/studies/simulate/answer.h"

namespace orrery {

// `planned` is the plan's memory on the fullest GPU. Adds the host's memory and the overheads,
// which all count in `fits`. A process on a CPU has no overheads. Error: the catalogue's table
// cannot be read.
Result<MemoryUse> whole_memory_use(const Program& program,
                                   const Scenario& scenario,
                                   const NetworkModel& network,
                                   MemoryUse planned);
// For a scenario that is not simulated.
Result<MemoryUse> whole_memory_use(const Program& program, const Scenario& scenario);

}  // namespace orrery
