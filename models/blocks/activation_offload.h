// SPDX-License-Identifier: Apache-2.0
// Inputs of layers that full recomputation keeps: which of them lie in the host's memory until the
// backward pass (plan.activation_offload_fraction), and the copies there and back.
#pragma once

#include <cstdint>

#include "models/segments/block_builder.h"

namespace orrery {

// Whether the input of layer `layer` (from 0) of a chunk does. Equal parts of any row of layers do.
bool input_is_offloaded(const ParallelPlan& plan, std::int64_t layer);

// Copies `input` to the host. Its tensor on the device lives until the end of the layer's forward
// pass, unless `keeps_device_copy`.
TensorId copy_to_host(BlockBuilder& b, const Value& input, bool keeps_device_copy);
// The input again, on the device, for the ops that follow; the copy begins when the device has
// finished what is before.
Value copy_from_host(BlockBuilder& b, const Value& input, TensorId on_host);

}  // namespace orrery
