// SPDX-License-Identifier: Apache-2.0
// `orrery tokenize TEXT... -o FILE` makes a token file of texts, by bytes or by byte-pair encoding,
// whose vocab.json and merges.txt then stand beside the file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/program/command.h"

namespace orrery {

struct TokenizeArguments {
    std::vector<std::string> texts;
    std::string output;
    std::int64_t vocabulary = 0;  // of byte-pair encoding, learned from the texts; 0: by bytes
    std::string tokenizer;        // folder of an encoding that was learned before; empty: none
};

// Returns the exit status.
int tokenize_command(const TokenizeArguments& arguments);

Command describe_tokenize();

}  // namespace orrery
