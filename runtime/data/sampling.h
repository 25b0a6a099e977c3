// SPDX-License-Identifier: Apache-2.0
// The tokens of a training sample: `seq_length` inputs and the label that follows each, from a
// random place of the data. The place is a pure function of (seed, step, number of the sample in
// the global batch), so that neither sharding nor an interruption changes the samples.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/result.h"
#include "runtime/data/token_file.h"

namespace orrery {

struct SampleOrder {
    std::uint64_t seed = 0;
    std::int64_t seq_length = 0;

    // The first token of a sample among `num_tokens`, which must be more than seq_length.
    std::int64_t place(std::int64_t step, std::int64_t sample, std::int64_t num_tokens) const;
};

// Ids of a micro-batch, sequence-major: element s * batch + b.
struct TokenBatch {
    std::vector<std::int32_t> inputs;
    std::vector<std::int32_t> labels;
};

// `batch` samples from number `first_sample` of the global batch on. Fails if an id is not less
// than `vocab_size`.
Result<TokenBatch> draw_batch(const Tokens& tokens,
                              const SampleOrder& order,
                              std::int64_t vocab_size,
                              std::int64_t step,
                              std::int64_t first_sample,
                              std::int64_t batch);

}  // namespace orrery
