// SPDX-License-Identifier: Apache-2.0
// PyTorch's FSDP: the gradients of a unit are not parts of a buffer, so they are copied into one,
// in the type in which they are reduced (plan.gradient_bucket_copies).
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

}  // namespace orrery
