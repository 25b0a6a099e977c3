// SPDX-License-Identifier: Apache-2.0
// How long a job of so many GPUs takes from nothing to its first step, checkpoint loading apart:
// processes, rendezvous and the creation of communicators, interpolated between the published times
// of cold recoveries (FT-HSDP, arXiv:2602.00277: 16K 200 s, 22K 300 s, 64K 600 s, 98K 900 s; of
// these, communicators 17, 30, 100 and 200 s). Below 16K GPUs nothing is published: 200 s is kept.
#pragma once

#include <cstdint>

#include "engine/wall_time.h"

namespace orrery {

WallTime cold_start(std::int64_t gpus);
WallTime communicator_creation(std::int64_t gpus);
// How long training stands still for ranks to agree on a checkpoint, data apart: a walk up and down
// a tree of all of them. ByteCheckpoint (NSDI 2025) stalls 0.34 s for a model of 7 billion
// parameters on 1,488 GPUs, where copying takes milliseconds: so much per level of the tree.
WallTime checkpoint_agreement(std::int64_t gpus);

}  // namespace orrery
