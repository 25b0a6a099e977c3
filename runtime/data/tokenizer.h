// SPDX-License-Identifier: Apache-2.0
// Text to token ids and back, with the tokenizer of a data set: bytes, or byte-pair encoding.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/byte_pair_encoding.h"

namespace orrery {

class Tokenizer {
public:
    // By bytes: the id of a byte is its value.
    Tokenizer() = default;
    explicit Tokenizer(BytePairEncoding encoding) : encoding_(std::move(encoding)) {}
    // The tokenizer of the first of these folders with a merges.txt; bytes if none has one.
    static Result<Tokenizer> find(std::span<const std::filesystem::path> folders);

    bool by_bytes() const { return !encoding_; }
    std::int64_t vocabulary() const;
    std::vector<std::int32_t> encode(std::string_view text) const;
    // Skips ids outside the vocabulary.
    std::string decode(std::span<const std::int32_t> ids) const;
    // Saves it into a folder; does nothing for bytes.
    Result<void> save(const std::filesystem::path& folder) const;

private:
    std::optional<BytePairEncoding> encoding_;
};

}  // namespace orrery
