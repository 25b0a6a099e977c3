// SPDX-License-Identifier: Apache-2.0
// Offload of the layer inputs that full recomputation keeps (plan.activation_offload_fraction), and
// of all that the backward pass reads of a layer (plan.cpu_offloading_num_layers): the choice, and
// the copies to the host's memory and back.
#pragma once

#include <cstdint>
#include <vector>

#include "models/blocks/norm_lowering.h"

namespace orrery {

// Whether the input of layer `layer` (from 0) of a chunk is offloaded. The offloaded layers are
// spread evenly.
bool input_is_offloaded(const ParallelPlan& plan, std::int64_t layer);

// What the device keeps of a layer's input: the input itself or, as a tensor of its own, this
// rank's part of it (plan.distribute_saved_activations; Megatron-LM's
// split_tensor_into_1d_equal_chunks() with new_buffer). The whole input then lives until the end of
// the layer's forward pass, unless `stays` is set.
Value kept_of_input(BlockBuilder& b, const Value& input, bool stays);

// Copies `input` to the host. Its tensor on the device lives until the end of the layer's forward
// pass, unless `keeps_device_copy` is set.
TensorId copy_to_host(BlockBuilder& b, const Value& input, bool keeps_device_copy);
// Copies the input back to the device. The copy begins when all earlier computation on the device
// has ended.
Value copy_from_host(BlockBuilder& b, const Value& input, TensorId on_host);

// What the backward pass reads of a layer, in the host's memory.
struct LayerOnHost {
    std::vector<TensorId> tensors;  // on the device, in the forward pass
    TensorId on_host{};
};
// Copies the activations that were made since the program had `first` tensors. They leave the
// device when the copy has ended, the residual when the next layer has added to it, too. Of 16-bit
// inputs with FP8 copies only attention's output is copied, which attention's own backward pass
// reads (Transformer Engine marks Q, K, V and this output: dot_product_attention/backends.py).
LayerOnHost copy_layer_to_host(BlockBuilder& b, std::size_t first, const ResidualStream& stream);
// Copies them back. Ops from now on read the copies. The copy begins when all earlier computation
// on the device has ended.
void copy_layer_from_host(BlockBuilder& b, const LayerOnHost& layer);

}  // namespace orrery
