// SPDX-License-Identifier: Apache-2.0
// The time of a job's start, from no process to the first step, without loading the checkpoint.
//
// Rendezvous and communicators: every process talks to one key-value store, which serves one
// operation at a time. Their time is (number of operations) x (time of one operation). Of n
// processes
//   2 n      register, and read that all have registered
//   n        for each kind of groups: its members learn their communicator's identity
//   2 n      for each barrier of all: add one to a counter, read that it is complete
// All processes make every group of the plan (as Megatron-LM does with torch.distributed). A
// barrier after each group makes O(n^2) operations, because there are O(n) groups; a barrier after
// each kind makes O(n). MegaScale (NSDI 2024, section 3.5) publishes 2,048 GPUs: 1,047 s with a
// blocking store and 361 s with an asynchronous one. With the plan of its 175B model (tensor 8,
// pipeline 8), these two give the times of an operation, 227 us and 78.4 us. All other figures are
// predictions. MegaScale's O(n) barriers: 3.2 s on 2,048 GPUs ("under 5 s") and 19 s on 12,288
// ("under 30 s on more than 10,000"). Meta's (FT-HSDP, arXiv:2602.00277) published 17, 30, 100 and
// 200 s on 16K, 22K, 64K and 96K GPUs: predicted 26, 35, 103 and 154 s. Second communicators over
// Gloo are not modelled.
//
// Processes (containers, imports, data): FT-HSDP's cold recoveries of 200, 300, 600 and 900 s
// without their communicators, linear between these points. Below 16K GPUs nothing is published;
// the time stays at 183 s.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/base/wall_time.h"
#include "models/plan/plan.h"
#include "scenarios/format/specs/campaign_plan.h"

namespace orrery {

// Communicators of one kind. Every rank belongs to one of them or to none.
struct GroupKind {
    std::string_view name;
    std::int64_t groups = 0;
};
// The kinds of Megatron-LM's parallel state, including groups with one member.
std::vector<GroupKind> group_kinds(const ParallelPlan& plan);

struct Meeting {
    std::int64_t groups = 0;
    std::int64_t operations = 0;  // number of operations of the store
    WallTime time;
    bool operator==(const Meeting&) const = default;
};
// Rendezvous of all processes and creation of all communicators.
Meeting meeting_of(const ParallelPlan& plan, const StartUpPlan& start_up);
// The time of one operation if the scenario does not give it.
double store_operation_s(StoreKind kind);

WallTime process_start(std::int64_t gpus);

// The time for which training stops while ranks agree on a checkpoint, without moving data: a walk
// up and down a tree of all ranks. ByteCheckpoint (NSDI 2025) stalls 0.34 s for a model of 7
// billion parameters on 1,488 GPUs, where copying takes milliseconds. This gives the time of one
// level of the tree.
WallTime checkpoint_agreement(std::int64_t gpus);

}  // namespace orrery
