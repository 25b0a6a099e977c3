// SPDX-License-Identifier: Apache-2.0
// Offload of the layer inputs that full recomputation keeps (plan.activation_offload_fraction): the
// choice of inputs, and the copies to the host's memory and back.
#pragma once

#include <cstdint>

#include "models/segments/block_builder.h"

namespace orrery {

// Whether the input of layer `layer` (from 0) of a chunk is offloaded. The offloaded layers are
// spread evenly.
bool input_is_offloaded(const ParallelPlan& plan, std::int64_t layer);

// Copies `input` to the host. Its tensor on the device lives until the end of the layer's forward
// pass, unless `keeps_device_copy` is set.
TensorId copy_to_host(BlockBuilder& b, const Value& input, bool keeps_device_copy);
// Copies the input back to the device. The copy begins when all earlier computation on the device
// has ended.
Value copy_from_host(BlockBuilder& b, const Value& input, TensorId on_host);

}  // namespace orrery
