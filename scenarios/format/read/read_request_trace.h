// SPDX-License-Identifier: Apache-2.0
// Recorded loads. Their form is known by the file's ending and its columns:
//   *.jsonl  Mooncake's: timestamp in milliseconds, input_length, output_length and hash_ids
//   *.csv    arrival_s or arrival_ms, input_tokens, output_tokens, and perhaps blocks, in which a
//            run of numbers is its first and last one: 0-3 9
//   *.csv    Azure's: TIMESTAMP, ContextTokens, GeneratedTokens
// hash_ids and blocks number the blocks of the prompt: requests whose first blocks have the same
// numbers have the same first tokens.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "engine/base/result.h"
#include "engine/serving/request.h"

namespace orrery {

// Tokens of a block of the trace, and of the caches that share blocks; 0: they share none. One of
// the two is a multiple of the other.
struct TraceBlocks {
    std::int64_t of_trace = 512;
    std::int64_t of_cache = 0;
};

// Requests in the order of their arrival. An error where a row is torn, comes before the one above
// it, or says nothing of a request.
ResultOrErrors<std::vector<Request>> read_request_trace(const std::filesystem::path& file,
                                                        const TraceBlocks& blocks = {});

// Hashes of the full blocks of the cache, of a prompt whose blocks have these numbers.
std::vector<std::uint64_t> prefix_hashes_of(std::span<const std::int64_t> numbers,
                                            std::int64_t prompt_tokens,
                                            const TraceBlocks& blocks);

}  // namespace orrery
