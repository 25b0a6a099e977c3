// SPDX-License-Identifier: Apache-2.0
// What a server computes in a step: for each sequence of a batch some tokens in a row, against the
// keys and values of the tokens before them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/result.h"
#include "engine/serving/block_pool.h"

namespace orrery {

struct DecodeChunk {
    std::vector<std::int32_t> tokens;  // to compute
    std::int64_t context = 0;          // computed before
    std::vector<KvBlock> blocks;       // of all of them
    bool samples = false;              // wants the logits behind its last token
};

class DecodeStep {
public:
    virtual ~DecodeStep() = default;
    // One row of the vocabulary for each chunk that samples, in their order. After an error it is
    // of no further use.
    virtual Result<void> run(std::span<const DecodeChunk> chunks, std::vector<float>& logits) = 0;
    // Called every few seconds while there is nothing to compute: others may wait for a sign.
    virtual Result<void> keep_alive() { return {}; }
};

}  // namespace orrery
