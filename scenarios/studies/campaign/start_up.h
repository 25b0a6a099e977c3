// SPDX-License-Identifier: Apache-2.0
// How long a job takes from nothing to its first step, the checkpoint's loading apart.
//
// Rendezvous and communicators: every process talks to one key-value store, which serves one
// operation after the other, so their time is (operations) x (what one takes there). Of n processes
//   2 n      say that they are there, and read that all are
//   n        for each kind of groups: its members learn their communicator's identity
//   2 n      for each barrier of all: add one to a counter, read that it is complete
// Every group of the plan is made by all processes (as Megatron-LM does with torch.distributed). A
// barrier after each group makes O(n^2) operations, for there are O(n) groups; one after each kind
// makes O(n). MegaScale (NSDI 2024, section 3.5) publishes 2,048 GPUs: 1,047 s with a blocking
// store and 361 s with an asynchronous one. From these two alone come the times of an operation,
// 227 us and 78.4 us, with the plan of its 175B model (tensor 8, pipeline 8). Predicted are its
// other two: O(n) barriers, 3.2 s on 2,048 GPUs ("under 5 s") and 19 s on 12,288 ("under 30 s on
// more than 10,000"), and Meta's (FT-HSDP, arXiv:2602.00277), which are 17, 30, 100 and 200 s on
// 16K, 22K, 64K and 96K GPUs: 26, 35, 103 and 154 s. Not modelled: second communicators over Gloo.
//
// Processes (containers, imports, data): what FT-HSDP's cold recoveries of 200, 300, 600 and 900 s
// leave beside their communicators, between the points in proportion. Below 16K GPUs nothing is
// published: 183 s is kept.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/base/wall_time.h"
#include "models/plan/plan.h"
#include "scenarios/format/specs/campaign_plan.h"

namespace orrery {

// Communicators of one kind; every rank is in one of them or none.
struct GroupKind {
    std::string_view name;
    std::int64_t groups = 0;
};
// Those of Megatron-LM's parallel state, whether a group has one member or many.
std::vector<GroupKind> group_kinds(const ParallelPlan& plan);

struct Meeting {
    std::int64_t groups = 0;
    std::int64_t operations = 0;  // at the store
    WallTime time;
    bool operator==(const Meeting&) const = default;
};
// Rendezvous of all processes and creation of all communicators.
Meeting meeting_of(const ParallelPlan& plan, const StartUpPlan& start_up);
// What one operation takes at a store that is not told otherwise.
double store_operation_s(StoreKind kind);

WallTime process_start(std::int64_t gpus);

// How long training stands still for ranks to agree on a checkpoint, data apart: a walk up and down
// a tree of all of them. ByteCheckpoint (NSDI 2025) stalls 0.34 s for a model of 7 billion
// parameters on 1,488 GPUs, where copying takes milliseconds: so much per level of the tree.
WallTime checkpoint_agreement(std::int64_t gpus);

}  // namespace orrery
