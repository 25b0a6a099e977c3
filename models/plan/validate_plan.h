// SPDX-License-Identifier: Apache-2.0
// The rules that a plan must obey for a model and a number of GPUs. Each broken rule is one Error
// with the key's path and the values that would fit. The rules are Megatron-LM's, with two
// exceptions. The number of micro-batches of interleaved schedules need not be a multiple of the
// stages (models/schedule/interleaved_1f1b.cpp). Tensor parallelism may exceed the query groups if
// it is a multiple of them (their weights are then replicated).
#pragma once

#include <cstdint>

#include "engine/base/result.h"
#include "kernels/device_spec.h"
#include "models/plan/plan.h"
#include "models/transformer/transformer.h"

namespace orrery {

// All errors; empty if the plan is valid. plan.data_parallel_size is not read; it follows from
// num_gpus.
Errors check(const Transformer& model, const ParallelPlan& plan, std::int64_t num_gpus);

// The demands of the plan that the device cannot meet: number formats and attention kernels.
Errors check_device(const ParallelPlan& plan, const DeviceSpec& device);

// num_gpus / (tensor x pipeline x context); 0 if the product does not divide num_gpus.
std::int64_t derived_data_parallel_size(const ParallelPlan& plan, std::int64_t num_gpus);

}  // namespace orrery
