// SPDX-License-Identifier: Apache-2.0
// Recorded loads. The form follows from the file's ending and its columns:
//   *.jsonl  Mooncake's: timestamp in milliseconds, input_length, output_length and hash_ids
//   *.csv    arrival_s or arrival_ms, input_tokens, output_tokens, and optionally blocks, in which
//            a run of numbers is written as its first and last one: 0-3 9
//   *.csv    Azure's: TIMESTAMP, ContextTokens, GeneratedTokens
// hash_ids and blocks number the blocks of the prompt. Requests whose first blocks have equal
// numbers have the same first tokens.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "engine/base/result.h"
#include "engine/serving/request.h"

namespace orrery {

// Tokens in a block of the trace, and in a block of the caches that share blocks; 0: they share
// none. One must be a multiple of the other.
struct TraceBlocks {
    std::int64_t of_trace = 512;
    std::int64_t of_cache = 0;
};

// Requests in the order of their arrival. Errors: a torn row, a row before its predecessor, or an
// invalid request.
ResultOrErrors<std::vector<Request>> read_request_trace(const std::filesystem::path& file,
                                                        const TraceBlocks& blocks = {});

// Hashes of the full cache blocks of a prompt whose trace blocks have these numbers.
std::vector<std::uint64_t> prefix_hashes_of(std::span<const std::int64_t> numbers,
                                            std::int64_t prompt_tokens,
                                            const TraceBlocks& blocks);

}  // namespace orrery
