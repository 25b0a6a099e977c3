// SPDX-License-Identifier: Apache-2.0
// The random numbers of kernels/random.h in device code: the same bits, from the same Philox.
#pragma once

#include <Random123/philox.h>

#include "kernels/cuda/block.h"
#include "kernels/random.h"

namespace orrery::device {

// The words of consecutive elements, read one by one from `index` on.
class WordStream {
public:
    ORRERY_HOST_DEVICE WordStream(const RandomKey& key, std::int64_t index)
        : key_(key), next_(static_cast<std::uint64_t>(index)) {
        draw();
    }
    ORRERY_HOST_DEVICE std::uint32_t operator()() {
        const std::uint32_t word = words_[next_ % 4];
        if (++next_ % 4 == 0) {
            draw();
        }
        return word;
    }

private:
    ORRERY_HOST_DEVICE void draw() {
        const std::uint64_t block = next_ / 4;
        const r123::Philox4x32::ctr_type counter = {
            {static_cast<std::uint32_t>(block),
             static_cast<std::uint32_t>(block >> 32) | static_cast<std::uint32_t>(key_.purpose)
                                                           << 24,
             key_.stream,
             key_.round}};
        const r123::Philox4x32::key_type key = {
            {static_cast<std::uint32_t>(key_.seed), static_cast<std::uint32_t>(key_.seed >> 32)}};
        const r123::Philox4x32::ctr_type words = r123::Philox4x32{}(counter, key);
        for (int i = 0; i < 4; ++i) {
            words_[i] = words.v[i];
        }
    }

    RandomKey key_;
    std::uint64_t next_;
    std::uint32_t words_[4] = {};
};

}  // namespace orrery::device
