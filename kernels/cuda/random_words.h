// SPDX-License-Identifier: Apache-2.0
// The random numbers of kernels/random.h in device code: the same Philox, with the same bits.
#pragma once

#include <Random123/philox.h>

#include "kernels/cuda/block.h"
#include "kernels/random.h"

namespace orrery::device {

// The words of elements 4 `block` … 4 `block` + 3.
ORRERY_HOST_DEVICE void draw_words(const RandomKey& key,
                                   std::uint64_t block,
                                   std::uint32_t (&words)[4]) {
    const r123::Philox4x32::ctr_type counter = {
        {static_cast<std::uint32_t>(block),
         static_cast<std::uint32_t>(block >> 32) | static_cast<std::uint32_t>(key.purpose) << 24,
         key.stream,
         key.round}};
    const r123::Philox4x32::key_type seed = {
        {static_cast<std::uint32_t>(key.seed), static_cast<std::uint32_t>(key.seed >> 32)}};
    const r123::Philox4x32::ctr_type drawn = r123::Philox4x32{}(counter, seed);
    ORRERY_UNROLL
    for (int i = 0; i < 4; ++i) {
        words[i] = drawn.v[i];
    }
}

// In [0, 1), as uniform() of kernels/random.h.
ORRERY_HOST_DEVICE float uniform_of(std::uint32_t word) {
    return static_cast<float>(word >> 8) * 0x1p-24f;
}

// The words of consecutive elements, one by one from `index` on.
class WordStream {
public:
    ORRERY_HOST_DEVICE WordStream(const RandomKey& key, std::int64_t index)
        : key_(key), next_(static_cast<std::uint64_t>(index)) {
        draw_words(key_, next_ / 4, words_);
    }
    ORRERY_HOST_DEVICE std::uint32_t operator()() {
        const std::uint32_t word = words_[next_ % 4];
        if (++next_ % 4 == 0) {
            draw_words(key_, next_ / 4, words_);
        }
        return word;
    }

private:
    RandomKey key_;
    std::uint64_t next_;
    std::uint32_t words_[4] = {};
};

// The words of arbitrary elements; caches the last block of four.
class WordCache {
public:
    ORRERY_HOST_DEVICE explicit WordCache(const RandomKey& key) : key_(key) {}
    ORRERY_HOST_DEVICE std::uint32_t at(std::int64_t index) {
        const auto element = static_cast<std::uint64_t>(index);
        if (element / 4 != block_) {
            block_ = element / 4;
            draw_words(key_, block_, words_);
        }
        // Selected, not indexed: with a variable index the compiler would put the words into
        // memory.
        const std::uint32_t low = element % 2 == 0 ? words_[0] : words_[1];
        const std::uint32_t high = element % 2 == 0 ? words_[2] : words_[3];
        return element % 4 < 2 ? low : high;
    }

private:
    RandomKey key_;
    std::uint64_t block_ = ~std::uint64_t{0};
    std::uint32_t words_[4] = {};
};

}  // namespace orrery::device
