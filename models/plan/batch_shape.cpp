// SPDX-License-Identifier: Apache-2.0
#include "models/plan/batch_shape.h"

#include <algorithm>
#include <functional>
#include <set>

namespace orrery {

namespace {

std::int64_t share_rounded_up(std::int64_t all, std::int64_t ranks) {
    return (all + ranks - 1) / ranks;
}

}  // namespace

BatchShape shape_of(const Batch& batch) {
    BatchShape shape;
    std::set<std::int32_t> adapters;
    for (const SequenceStep& step : batch.steps) {
        if (step.adapter >= 0) {
            adapters.insert(step.adapter);
        }
        shape.tokens += step.new_tokens;
        shape.images += step.images;
        shape.sampled += step.samples ? 1 + step.drafted : 0;
        if (step.new_tokens - step.drafted == 1 && step.context > 0) {
            ++shape.generating;
            shape.drafted += step.drafted;
            shape.generating_context += step.context + 1;
        } else {
            shape.chunks.push_back({.new_tokens = step.new_tokens, .context = step.context});
        }
    }
    shape.adapters = static_cast<std::int64_t>(adapters.size());
    return shape;
}

BatchShape share_of(const BatchShape& shape, std::int64_t ranks) {
    if (ranks == 1) {
        return shape;
    }
    BatchShape share{.sampled = share_rounded_up(shape.sampled, ranks),
                     .generating = share_rounded_up(shape.generating, ranks)};
    share.images = share_rounded_up(shape.images, ranks);
    if (shape.generating > 0) {
        share.generating_context =
            share_rounded_up(shape.generating_context * share.generating, shape.generating);
    }
    if (shape.drafted > 0) {
        share.drafted = share_rounded_up(shape.drafted * share.generating, shape.generating);
    }
    share.tokens = share.generating + share.drafted;
    std::vector<PromptChunk> chunks = shape.chunks;
    std::ranges::sort(chunks, std::greater{}, &PromptChunk::new_tokens);
    for (std::size_t i = 0; i < chunks.size(); i += static_cast<std::size_t>(ranks)) {
        share.chunks.push_back(chunks[i]);
        share.tokens += chunks[i].new_tokens;
    }
    share.adapters =
        std::min(shape.adapters, share.generating + static_cast<std::int64_t>(share.chunks.size()));
    return share;
}

}  // namespace orrery
