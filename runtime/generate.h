// SPDX-License-Identifier: Apache-2.0
// Text from a model, one token at a time: forward passes of its training Program over the tokens so
// far, and a draw from the logits at the last token. It works with any layout. Every rank calls it,
// and all get the same tokens.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "engine/base/result.h"
#include "models/transformer/transformer.h"
#include "runtime/executor.h"

namespace orrery {

struct DrawOptions {
    double temperature = 1;  // of the softmax; 0: always the most likely token
    std::int64_t top_k = 0;  // draw from this number of most likely tokens; 0: from all
    std::uint64_t seed = 0;
    std::int64_t vocabulary = 0;  // only ids below this are drawn; 0: all
};

// One draw. `number` counts the draws of a text. Of equal logits the smaller id wins.
std::int32_t draw_token(std::span<const float> logits,
                        const DrawOptions& options,
                        std::int64_t number);

// Returns `count` tokens that continue the prompt, which must not be empty and have valid ids. The
// model sees the last seq_length tokens. Overwrites the tokens, labels and scalars of the Program.
Result<std::vector<std::int32_t>> generate_tokens(Executor& executor,
                                                  const Transformer& model,
                                                  std::vector<std::int32_t> prompt,
                                                  std::int64_t count,
                                                  const DrawOptions& options);

// The model of a checkpoint with its weights, on one rank.
struct LoadedModel {
    Transformer model;
    std::int64_t step = 0;
    std::unique_ptr<Program> program;
    std::unique_ptr<Executor> executor;
};
// `checkpoint` is a run's folder, or the folder of one step.
Result<LoadedModel> load_model(const std::filesystem::path& checkpoint);

}  // namespace orrery
