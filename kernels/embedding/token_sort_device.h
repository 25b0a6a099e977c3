// SPDX-License-Identifier: Apache-2.0
// Sorts token numbers by id. The keys id * 2^32 + token of 64 bits are distinct, so that the order
// is unique. Chunks are sorted in shared memory (Batcher's bitonic network), then runs are merged
// pairwise. The place of an element is its own index plus the number of smaller elements in the
// other run.
#pragma once

#include "kernels/cuda/flat.h"

namespace orrery::device {

inline constexpr int kSortChunk = 2048;
inline constexpr int kSortThreads = 512;
inline constexpr std::uint64_t kNoKey = ~std::uint64_t{0};

struct SortChunkKernel {
    static constexpr int kThreadsMax = kSortThreads;
    const std::int32_t* ids;
    std::int64_t tokens;
    std::uint64_t* keys;  // [tokens]

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        auto* chunk = reinterpret_cast<std::uint64_t*>(block.shared());
        const std::int64_t first = block.x() * kSortChunk;
        for (int i = block.thread(); i < kSortChunk; i += kThreadsMax) {
            const std::int64_t token = first + i;
            // negative ids, which should not occur, sort last
            chunk[i] = token < tokens
                           ? static_cast<std::uint64_t>(static_cast<std::uint32_t>(ids[token]))
                                     << 32 |
                                 static_cast<std::uint64_t>(token)
                           : kNoKey;
        }
        block.sync();
        for (int size = 2; size <= kSortChunk; size *= 2) {
            for (int stride = size / 2; stride > 0; stride /= 2) {
                for (int i = block.thread(); i < kSortChunk / 2; i += kThreadsMax) {
                    const int low = i / stride * 2 * stride + i % stride;
                    const int high = low + stride;
                    const bool ascending = low / size % 2 == 0;
                    const std::uint64_t a = chunk[low];
                    const std::uint64_t b = chunk[high];
                    if ((a > b) == ascending) {
                        chunk[low] = b;
                        chunk[high] = a;
                    }
                }
                block.sync();
            }
        }
        for (int i = block.thread(); i < kSortChunk && first + i < tokens; i += kThreadsMax) {
            keys[first + i] = chunk[i];
        }
    }
};

// Merges sorted runs of `run` keys in pairs.
struct MergeRunsKernel {
    static constexpr int kThreadsMax = 256;
    std::int64_t tokens;
    std::int64_t run;
    const std::uint64_t* from;
    std::uint64_t* to;

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        const std::int64_t i = block.x() * kThreadsMax + block.thread();
        if (i >= tokens) {
            return;
        }
        const std::uint64_t key = from[i];
        const std::int64_t own = i / run * run;
        const std::int64_t pair = i / (2 * run) * 2 * run;
        const std::int64_t other = own == pair ? pair + run : pair;
        std::int64_t low = other < tokens ? other : tokens;
        std::int64_t high = other + run < tokens ? other + run : tokens;
        const std::int64_t begin = low;
        while (low < high) {
            const std::int64_t middle = (low + high) / 2;
            if (from[middle] < key) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        to[pair + (i - own) + (low - begin)] = key;
    }
};

// Returns the sorted keys, which are in `scratch` (2 tokens keys).
template <class Queue>
const std::uint64_t* sort_tokens(Queue& queue,
                                 const std::int32_t* ids,
                                 std::int64_t tokens,
                                 std::uint64_t* scratch) {
    std::uint64_t* keys = scratch;
    std::uint64_t* other = scratch + tokens;
    queue.launch(SortChunkKernel{.ids = ids, .tokens = tokens, .keys = keys},
                 {.blocks_x = (tokens + kSortChunk - 1) / kSortChunk,
                  .threads = kSortThreads,
                  .shared_bytes = kSortChunk * 8});
    for (std::int64_t run = kSortChunk; run < tokens; run *= 2) {
        queue.launch(
            MergeRunsKernel{.tokens = tokens, .run = run, .from = keys, .to = other},
            {.blocks_x = (tokens + MergeRunsKernel::kThreadsMax - 1) / MergeRunsKernel::kThreadsMax,
             .threads = MergeRunsKernel::kThreadsMax});
        std::swap(keys, other);
    }
    return keys;
}

}  // namespace orrery::device
