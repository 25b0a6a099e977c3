// SPDX-License-Identifier: Apache-2.0
// Makes a token file from texts, by bytes or by byte-pair encoding. With byte-pair encoding
// vocab.json and merges.txt are written beside the file.
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
    std::int64_t vocabulary = 0;  // for byte-pair encoding, learned from the texts; 0: bytes
    std::string tokenizer;        // folder of an existing encoding; empty: none
};

Result<Tokens> tokenize_texts(const TokenizeSpec& spec);

}  // namespace orrery
