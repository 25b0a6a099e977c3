// SPDX-License-Identifier: Apache-2.0
// The computation of a server's step: for each sequence of a batch some consecutive tokens, against
// the keys and values of the tokens before them.
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

// The largest step of an instance, and the instance's index on this machine.
struct StepLimits {
    std::int64_t tokens = 0;
    std::int64_t sequences = 0;  // no more than tokens
    std::size_t instance = 0;
};

struct DecodeChunk {
    std::vector<std::int32_t> tokens;  // to compute
    std::int64_t context = 0;          // number of tokens computed before
    std::vector<KvBlock> blocks;       // of all tokens of the sequence
    bool samples = false;              // return the logits after its last token
    std::int32_t adapter = -1;         // index of its adapter; -1: the base model
};

// Keys and values of a sequence's first tokens, in a move to or from another instance.
struct CacheMove {
    std::size_t other = 0;  // index of the other instance, over all pools
    std::int64_t tokens = 0;
    std::vector<KvBlock> blocks;  // at this end; if empty, received data are dropped
};

class DecodeStep {
public:
    virtual ~DecodeStep() = default;
    // Sets one row of logits for each chunk that samples, in their order. After an error the object
    // cannot be used any more.
    virtual Result<void> run(std::span<const DecodeChunk> chunks, std::vector<float>& logits) = 0;
    // Does not wait for the other instance. The blocks may change after the call.
    virtual Result<void> send_cache(const CacheMove& move);
    // The other instance must have sent the cache, or be about to.
    virtual Result<void> receive_cache(const CacheMove& move);
    virtual std::string device_name() const { return "this machine's CPU"; }
    // Called every few seconds while there is nothing to compute, so that waiting ranks know that
    // this one lives.
    virtual Result<void> keep_alive() { return {}; }
};

inline Result<void> DecodeStep::send_cache(const CacheMove&) {
    return fail("cache", "this instance has no connection to others");
}

inline Result<void> DecodeStep::receive_cache(const CacheMove& move) {
    return send_cache(move);
}

}  // namespace orrery
