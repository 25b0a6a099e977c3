// SPDX-License-Identifier: Apache-2.0
// Dropout of attention probabilities in device code. It drops the same elements as
// cpu::AttentionDropout (kernels/attention/attention_cpu.h), wherever a shard of the sequence or of
// the heads begins.
#pragma once

#include "kernels/attention/attention_tiles.h"
#include "kernels/cuda/dropout_source.h"
#include "kernels/cuda/random_words.h"

namespace orrery::device {

struct ProbabilityDropout {
    DropoutSource source;
    std::int64_t first_head = 0;
    std::int64_t all_heads = 0;
    std::int64_t sequence = 0;
};

// The factors of dropout, 0 or 1 / (1 - rate), for the probabilities of one head of one sequence. A
// thread draws four words at a time and keeps them for neighbouring keys.
class ProbabilityFactors {
public:
    ORRERY_HOST_DEVICE ProbabilityFactors(const ProbabilityDropout& dropout,
                                          const AttentionMask& mask,
                                          std::int64_t batch,
                                          std::int64_t sequence,
                                          std::int64_t head)
        : mask_(mask),
          source_(dropout.source.resolved()),
          words_(source_.key),
          scale_(1.0f / (1.0f - source_.rate)),
          row_stride_(batch * dropout.all_heads * dropout.sequence),
          first_((sequence * dropout.all_heads + dropout.first_head + head) * dropout.sequence) {}

    ORRERY_HOST_DEVICE float operator()(int query, int key) {
        const std::int64_t index = mask_.query.of(query) * row_stride_ + first_ + mask_.key.of(key);
        return uniform_of(words_.at(index)) >= source_.rate ? scale_ : 0.0f;
    }

private:
    const AttentionMask& mask_;
    DropoutSource source_;
    WordCache words_;
    float scale_;
    std::int64_t row_stride_;
    std::int64_t first_;
};

}  // namespace orrery::device
