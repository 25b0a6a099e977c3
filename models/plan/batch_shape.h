// SPDX-License-Identifier: Apache-2.0
// The properties of an inference batch that determine the cost of its step: numbers of tokens,
// sequences and visible tokens.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/serving/batch_scheduler.h"

namespace orrery {

// A part of a prompt: `new_tokens` rows that attend to `context` earlier tokens and to themselves.
struct PromptChunk {
    std::int64_t new_tokens = 0;
    std::int64_t context = 0;
    bool operator==(const PromptChunk&) const = default;
};

// The properties of a batch that its cost depends on, for all ranks of a stage together or for the
// busiest of its data-parallel ranks.
struct BatchShape {
    std::int64_t tokens = 0;      // rows of every product
    std::int64_t sampled = 0;     // rows of the output layer
    std::int64_t generating = 0;  // sequences that compute one token after their context
    std::int64_t drafted = 0;  // proposed tokens that these verify in addition to their own tokens
    std::int64_t generating_context = 0;  // tokens that these attend to, including their own
    std::vector<PromptChunk> chunks;
    std::int64_t adapters = 0;  // the number of different adapters
    std::int64_t images = 0;    // that an encoder reads before the prompts
    bool operator==(const BatchShape&) const = default;
};
BatchShape shape_of(const Batch& batch);
// The part of the busiest of `ranks` data-parallel ranks if they share sequences and prompts
// evenly.
BatchShape share_of(const BatchShape& shape, std::int64_t ranks);

}  // namespace orrery
