// SPDX-License-Identifier: Apache-2.0
// Text from a model, a token at a time: the forward passes of its training Program on the tokens so
// far, and a draw from the logits at the last of them. It runs on any layout: every rank calls it,
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
    double temperature = 1;  // of the softmax; 0: always the likeliest token
    std::int64_t top_k = 0;  // draw among this many of the likeliest; 0: among all
    std::uint64_t seed = 0;
    std::int64_t vocabulary = 0;  // tokens that can be drawn: ids below this; 0: all
};

// One draw; `number` counts the draws of a text. Of equal logits the smaller id is the likelier.
std::int32_t draw_token(std::span<const float> logits,
                        const DrawOptions& options,
                        std::int64_t number);

// `count` tokens that follow the prompt (not empty, ids in the vocabulary); the model sees the last
// seq_length of all. Writes the tokens, labels and scalars of the Program.
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
// A run's folder, or that of one step.
Result<LoadedModel> load_model(const std::filesystem::path& checkpoint);

}  // namespace orrery
