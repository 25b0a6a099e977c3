// SPDX-License-Identifier: Apache-2.0
// Text to token ids and back, as a data set was made: by bytes, or by byte-pair encoding.
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
    // The first of these folders that has a merges.txt; by bytes if none has.
    static Result<Tokenizer> find(std::span<const std::filesystem::path> folders);

    bool by_bytes() const { return !encoding_; }
    std::int64_t vocabulary() const;
    std::vector<std::int32_t> encode(std::string_view text) const;
    // Ids outside the vocabulary are passed over.
    std::string decode(std::span<const std::int32_t> ids) const;
    // Into a folder, if it isn't by bytes.
    Result<void> save(const std::filesystem::path& folder) const;

private:
    std::optional<BytePairEncoding> encoding_;
};

}  // namespace orrery
