// SPDX-License-Identifier: Apache-2.0
// Random numbers by counter: Philox4x32-10 (Salmon et al., SC 2011; Random123). A number is a pure
// function of a key and the global index of its element. Neither sharding nor the order of work
// changes it, a backward pass draws the same numbers as the forward pass, and a resumed run the
// same as an uninterrupted one.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <span>

namespace orrery {

enum class RandomPurpose : std::uint8_t {
    initial_weights,
    embedding_dropout,
    attention_dropout,   // of attention probabilities
    projection_dropout,  // before the residual addition after attention
    mlp_dropout,         // before the residual addition after the MLP
    stochastic_rounding,
    data_order,  // the samples of a step: round = step
    text,        // tokens drawn from a model
};

struct RandomKey {
    std::uint64_t seed = 0;  // of the run
    RandomPurpose purpose = RandomPurpose::initial_weights;
    std::uint32_t stream = 0;  // layer (dropout) or tensor (weights)
    // dropout: number of the micro-batch in the run, over all data-parallel ranks; rounding: step
    std::uint32_t round = 0;
    bool operator==(const RandomKey&) const = default;
};

// The words of elements 4 `block` … 4 `block` + 3. Philox counter: {block mod 2^32, block / 2^32 +
// 2^24 purpose, stream, round}; Philox key: the seed.
std::array<std::uint32_t, 4> random_words(const RandomKey& key, std::uint64_t block);

// The words of consecutive elements, one by one from `index` on.
class RandomWords {
public:
    RandomWords(const RandomKey& key, std::int64_t index)
        : key_(key), next_(static_cast<std::uint64_t>(index)) {
        words_ = random_words(key_, next_ / 4);
    }
    std::uint32_t operator()() {
        const std::uint32_t word = words_[next_ % 4];
        if (++next_ % 4 == 0) {
            words_ = random_words(key_, next_ / 4);
        }
        return word;
    }

private:
    RandomKey key_;
    std::uint64_t next_;
    std::array<std::uint32_t, 4> words_{};
};

// In [0, 1), a multiple of 2^-24.
inline float uniform(std::uint32_t word) {
    return static_cast<float>(word >> 8) * 0x1p-24f;
}

// The standard normal value of an element, by Box-Muller on the words of its pair; for weights.
float normal(const RandomKey& key, std::int64_t index);

// The same for consecutive elements from `first` on. It needs a third of the work, because it uses
// all words of a block and both values of a pair.
void normals(const RandomKey& key, std::int64_t first, std::span<float> values);

}  // namespace orrery
