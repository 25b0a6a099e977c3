// SPDX-License-Identifier: Apache-2.0
// A memory-mapped file of token ids, little-endian: 8 bytes "ORRTOKEN", uint32 version 1, uint32
// bytes of a token (2 or 4), uint64 vocabulary (all ids are less), uint64 number of tokens, 32
// bytes of zeros, then the tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/base/result.h"

namespace orrery {

// Tokens in memory or in a mapped file.
class Tokens {
public:
    static Tokens of(std::vector<std::uint16_t> ids, std::int64_t vocabulary);
    // Error::where is the path.
    static Result<Tokens> open(const std::filesystem::path& path);

    std::int64_t size() const { return size_; }
    std::int64_t vocabulary() const { return vocabulary_; }
    std::int32_t operator[](std::int64_t i) const;
    // The tokens [first, first + count) of these.
    Tokens part(std::int64_t first, std::int64_t count) const;

private:
    std::shared_ptr<const std::byte> bytes_;  // address of token 0
    std::int64_t width_ = 2;
    std::int64_t size_ = 0;
    std::int64_t vocabulary_ = 0;
};

// Whether the file begins like a token file; false if it cannot be opened.
bool is_token_file(const std::filesystem::path& path);
Result<void> write_token_file(const std::filesystem::path& path, const Tokens& tokens);

}  // namespace orrery
