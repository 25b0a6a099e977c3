// SPDX-License-Identifier: Apache-2.0
// Whether a plan fits a model and a number of GPUs: every rule that a divisibility or a missing
// partner breaks, as one Error each, with the key path and the values that would do. The rules are
// Megatron-LM's, with two liberties: interleaving does not need the micro-batches to divide by the
// stages (models/schedule/interleaved_1f1b.cpp), and tensor parallelism may exceed the query groups
// where it is a multiple of them (their weights are then replicated).
#pragma once

#include <cstdint>

#include "engine/base/result.h"
#include "kernels/device_spec.h"
#include "models/plan/plan.h"
#include "models/transformer/transformer.h"

namespace orrery {

// All errors, none if the plan is good. plan.data_parallel_size is not read but derived from
// num_gpus.
Errors check(const Transformer& model, const ParallelPlan& plan, std::int64_t num_gpus);

// What the plan asks of a device that the device does not have: number formats, attention kernels.
Errors check_device(const ParallelPlan& plan, const DeviceSpec& device);

// What is left for data parallelism; 0 if tensor x pipeline x context does not divide num_gpus.
std::int64_t derived_data_parallel_size(const ParallelPlan& plan, std::int64_t num_gpus);

}  // namespace orrery
