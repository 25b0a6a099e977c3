// SPDX-License-Identifier: Apache-2.0
// DeepSpeed's first ZeRO 3 (0.3.10 to 0.3.15, deepspeed/runtime/zero): each parameter is gathered
// into, and reduced from, a list of one tensor a rank, by torch.distributed.all_gather and
// reduce_scatter of that time. The host handles the list part by part, and kernels pass over all of
// its elements. The device does nothing else meanwhile, because each gather synchronises all of its
// streams (partition_parameters.py, _allgather_param; stage3.py, _synchronize_communication).
#pragma once

#include <cstdint>

#include "models/blocks/unit_weights.h"

namespace orrery {

bool moves_lists(const BlockBuilder& b);

// Parameters that stay whole there (stage3_param_persistence_threshold). They are counted with a
// larger one, to whose collective they add next to nothing.
bool stays_whole(const BlockBuilder& b, const Parameter& p);

// The work beside a collective of a list: `elements` are those of all its parts, one for each of
// `ranks`.
struct MovedList {
    std::int64_t elements = 0;
    std::int64_t ranks = 1;
};
void list_weights(BlockBuilder& b, const ParameterSet& parameters, const MovedList& list);
// Call before the reduction.
void list_gradients(BlockBuilder& b, const ParameterSet& parameters, const MovedList& list);
// Call after it: nothing is computed beside it, because the next gather synchronises all streams.
void wait_for_list(BlockBuilder& b);

}  // namespace orrery
