// SPDX-License-Identifier: Apache-2.0
// Text to tokens. The byte tokenizer's tokens are the bytes of the text: a vocabulary of 256 that
// needs no training and is lossless.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "runtime/data/token_file.h"

namespace orrery {

inline constexpr std::int64_t kByteVocabulary = 256;

Tokens tokenize_bytes(std::string_view text);
// The concatenated files. Error::where is the path.
Result<std::string> read_texts(const std::vector<std::filesystem::path>& files);
// The concatenated tokens: token files as they are, other files byte by byte. A single token file
// is mapped, not copied. Error::where is the path.
Result<Tokens> load_tokens(const std::vector<std::filesystem::path>& files);

}  // namespace orrery
