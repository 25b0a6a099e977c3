// SPDX-License-Identifier: Apache-2.0
// What the cost of a step of an inference engine depends on: how many tokens of how many sequences
// it computes, and what they see.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/serving/batch_scheduler.h"

namespace orrery {

// A chunk of a prompt: `new_tokens` rows that see `context` earlier tokens and themselves.
struct PromptChunk {
    std::int64_t new_tokens = 0;
    std::int64_t context = 0;
    bool operator==(const PromptChunk&) const = default;
};

// Everything about a batch that its cost depends on: what the ranks of a stage compute together, or
// what the busiest of its data-parallel ranks does.
struct BatchShape {
    std::int64_t tokens = 0;              // rows of every product
    std::int64_t sampled = 0;             // rows of the output layer
    std::int64_t generating = 0;          // sequences that compute one token on top of a context
    std::int64_t drafted = 0;             // proposals that these verify beside their own tokens
    std::int64_t generating_context = 0;  // tokens that these see, their own among them
    std::vector<PromptChunk> chunks;
    std::int64_t adapters = 0;  // different ones
    std::int64_t images = 0;    // that an encoder reads before the prompts
    bool operator==(const BatchShape&) const = default;
};
BatchShape shape_of(const Batch& batch);
// The share of the busiest of `ranks` data-parallel ranks, which share sequences and prompts
// evenly.
BatchShape share_of(const BatchShape& shape, std::int64_t ranks);

}  // namespace orrery
