// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/sampling.h"

#include <fmt/format.h>

#include "engine/base/check.h"
#include "kernels/random.h"

namespace orrery {

std::int64_t SampleOrder::place(std::int64_t step,
                                std::int64_t sample,
                                std::int64_t num_tokens) const {
    ORRERY_CHECK(num_tokens > seq_length);
    const RandomKey key{.seed = seed,
                        .purpose = RandomPurpose::data_order,
                        .stream = static_cast<std::uint32_t>(step >> 32),
                        .round = static_cast<std::uint32_t>(step)};
    const auto words = random_words(key, static_cast<std::uint64_t>(sample));
    // A sample has seq_length + 1 tokens. The remainder biases a place by less than 2^-32 for any
    // data that fit on a disk.
    const auto places = static_cast<std::uint64_t>(num_tokens - seq_length);
    const std::uint64_t word = std::uint64_t{words[0]} << 32 | words[1];
    return static_cast<std::int64_t>(word % places);
}

Result<TokenBatch> draw_batch(const Tokens& tokens,
                              const SampleOrder& order,
                              std::int64_t vocab_size,
                              std::int64_t step,
                              std::int64_t first_sample,
                              std::int64_t batch) {
    const auto size = static_cast<std::size_t>(order.seq_length * batch);
    TokenBatch result{.inputs = std::vector<std::int32_t>(size),
                      .labels = std::vector<std::int32_t>(size)};
    for (std::int64_t b = 0; b < batch; ++b) {
        const std::int64_t first = order.place(step, first_sample + b, tokens.size());
        for (std::int64_t s = 0; s <= order.seq_length; ++s) {
            const std::int32_t id = tokens[first + s];
            if (id < 0 || id >= vocab_size) {
                return fail(
                    "",
                    fmt::format(
                        "token {} is {}, but model.vocab_size is {}", first + s, id, vocab_size),
                    "a larger vocab_size");
            }
            if (s < order.seq_length) {
                result.inputs[static_cast<std::size_t>(s * batch + b)] = id;
            }
            if (s > 0) {
                result.labels[static_cast<std::size_t>((s - 1) * batch + b)] = id;
            }
        }
    }
    return result;
}

}  // namespace orrery
