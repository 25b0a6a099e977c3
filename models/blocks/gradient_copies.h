// SPDX-License-Identifier: Apache-2.0
// PyTorch's FSDP and DeepSpeed's stage 3: the gradients of a unit are not parts of a buffer, so
// they are copied into one, in the type in which they are reduced (plan.gradient_bucket_copies).
#pragma once

#include <cstdint>
#include <vector>

#include "models/segments/block_builder.h"

namespace orrery {

// Returns the buffer. `elements`: of a rank's gradients before their reduction. fully_shard fills
// it with one kernel (_fsdp_collectives.py, foreach_reduce_scatter_copy_in: chunk_cat). The older
// FSDP's parameters are parts of torch.split, whose gradient concatenates theirs in their own type;
// a cast may follow (_runtime_utils.py, _reduce_grad).
TensorId copied_gradients(BlockBuilder& b,
                          const StateLayouts& state,
                          const std::vector<TensorId>& gradients,
                          std::int64_t elements);

// DeepSpeed's stage 3 (stage3.py, __add_grad_to_ipg_bucket): gradients that fit are copied into a
// bucket of plan.reduce_bucket_size elements, which is allocated once with the optimizer, and their
// reduction concatenates them once more (coalesced_collectives.py, reduce_scatter_coalesced).
// Larger gradients are reduced where they are. Returns the tensors that are reduced.
std::vector<TensorId> bucketed_gradients(BlockBuilder& b,
                                         const StateLayouts& state,
                                         const std::vector<Parameter*>& parameters);

}  // namespace orrery
