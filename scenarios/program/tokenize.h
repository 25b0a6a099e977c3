// SPDX-License-Identifier: Apache-2.0
// `orrery tokenize TEXT... -o FILE` (scenarios/studies/train/tokenized_texts.h).
#pragma once

#include "scenarios/program/views.h"
#include "scenarios/studies/train/tokenized_texts.h"

namespace orrery {

struct TokenizeArguments : ViewArguments {
    TokenizeSpec spec;
};

// Returns the exit status.
int tokenize_command(const TokenizeArguments& arguments);

}  // namespace orrery
