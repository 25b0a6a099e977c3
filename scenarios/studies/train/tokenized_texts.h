// SPDX-License-Identifier: Apache-2.0
// Makes a token file of texts, by bytes or by byte-pair encoding, whose vocab.json and merges.txt
// then stand beside the file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "runtime/data/token_file.h"

namespace orrery {

struct TokenizeSpec {
    std::vector<std::string> texts;
    std::string output;
    std::int64_t vocabulary = 0;  // of byte-pair encoding, learned from the texts; 0: by bytes
    std::string tokenizer;        // folder of an encoding that was learned before; empty: none
};

Result<Tokens> tokenize_texts(const TokenizeSpec& spec);

}  // namespace orrery
