// SPDX-License-Identifier: Apache-2.0
// What a server computes in a step: for each sequence of a batch some tokens in a row, against the
// keys and values of the tokens before them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/serving/block_pool.h"

namespace orrery {

struct CacheShape {
    std::int64_t num_blocks = 0;
    std::int64_t block_size = 16;
};

// The largest step of an instance, and which of this machine's it is.
struct StepLimits {
    std::int64_t tokens = 0;
    std::int64_t sequences = 0;  // no more than tokens
    std::size_t instance = 0;
};

struct DecodeChunk {
    std::vector<std::int32_t> tokens;  // to compute
    std::int64_t context = 0;          // computed before
    std::vector<KvBlock> blocks;       // of all of them
    bool samples = false;              // wants the logits behind its last token
    std::int32_t adapter = -1;         // of the served model's; -1: the model alone
};

// Keys and values of a sequence's first tokens, on their way to or from another instance.
struct CacheMove {
    std::size_t other = 0;  // the instance at the other end, counted over all pools
    std::int64_t tokens = 0;
    std::vector<KvBlock> blocks;  // of this end; without any, what comes is dropped
};

class DecodeStep {
public:
    virtual ~DecodeStep() = default;
    // One row of the vocabulary for each chunk that samples, in their order. After an error it is
    // of no further use.
    virtual Result<void> run(std::span<const DecodeChunk> chunks, std::vector<float>& logits) = 0;
    // Does not wait for the other end. The blocks may change when it has returned.
    virtual Result<void> send_cache(const CacheMove& move);
    // The other end has sent, or is about to.
    virtual Result<void> receive_cache(const CacheMove& move);
    virtual std::string device_name() const { return "this machine's CPU"; }
    // Called every few seconds while there is nothing to compute: others may wait for a sign.
    virtual Result<void> keep_alive() { return {}; }
};

inline Result<void> DecodeStep::send_cache(const CacheMove&) {
    return fail("cache", "this instance has no connection to others");
}

inline Result<void> DecodeStep::receive_cache(const CacheMove& move) {
    return send_cache(move);
}

}  // namespace orrery
