// SPDX-License-Identifier: Apache-2.0
// (model, plan) -> Program: what every rank does in one training step. Nothing here knows who will
// run it. The plan must have passed validate_plan.h.
#pragma once

#include "engine/program.h"
#include "models/plan.h"
#include "models/schedule/schedule.h"
#include "models/transformer.h"

namespace orrery {

// Communicators of pipeline messages (their order is independent of everything else's).
inline constexpr std::uint16_t kForwardCommunicator = 20;
inline constexpr std::uint16_t kBackwardCommunicator = 21;

// Between the warm-up and the last passes, Megatron-LM's interleaved schedule exchanges once for a
// forward and the backward pass behind it, in both directions together. It wants p | m, and has no
// such pairs if m = p.
bool shares_exchange(const ParallelPlan& plan,
                     std::int32_t stages,
                     std::int32_t chunks,
                     const WorkItem& item,
                     const WorkItem& next);

Program lower(const Transformer& model, const ParallelPlan& plan);

}  // namespace orrery
