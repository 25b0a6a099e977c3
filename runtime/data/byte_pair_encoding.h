// SPDX-License-Identifier: Apache-2.0
// Byte-level byte-pair encoding as GPT-2 has it (Sennrich et al., ACL 2016; Radford et al. 2019):
// a text is cut into words (runtime/data/pretokenize.h), a word begins as its bytes, and the pair
// of neighbours whose merge comes first in the list is merged until none is in it. Token ids: 0 to
// 255 the bytes in GPT-2's order, then the merges in theirs. Any bytes are encoded, and decoded to
// the same bytes. Longer words than kLongestWord are encoded in pieces, which bounds the time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/result.h"
#include "runtime/state/file_system.h"

namespace orrery {

class BytePairEncoding {
public:
    using Merge = std::pair<std::int32_t, std::int32_t>;
    static constexpr std::size_t kLongestWord = 1024;
    static constexpr std::int64_t kLargestVocabulary = 65'536;

    // Ids in a merge are of bytes and of earlier merges.
    explicit BytePairEncoding(std::vector<Merge> merges);
    // As many merges as the vocabulary leaves room for, each of the pair that is most frequent in
    // the text by then (of equals the one with the smaller ids); fewer if no pair occurs twice.
    static BytePairEncoding train(std::string_view text, std::int64_t vocabulary);

    // merges.txt of a folder; Error::where is its path.
    static Result<BytePairEncoding> open(const std::filesystem::path& folder);
    // vocab.json and merges.txt in Hugging Face's form. Fails if the folder has those of another
    // vocabulary: tokens that were made with them would be lost.
    Result<void> save(const std::filesystem::path& folder, FileSystem& files = disk()) const;

    std::int64_t vocabulary() const { return static_cast<std::int64_t>(bytes_.size()); }
    const std::vector<Merge>& merges() const { return merges_; }
    std::vector<std::int32_t> encode(std::string_view text) const;
    // Ids that are not in the vocabulary are passed over.
    std::string decode(std::span<const std::int32_t> ids) const;

private:
    std::vector<std::int32_t> encode_word(std::string_view word) const;

    std::vector<Merge> merges_;
    std::map<Merge, std::int32_t> merged_;  // the id that a pair becomes
    std::vector<std::string> bytes_;        // of each token
};

// The id of a byte's token, and the byte of such an id.
std::int32_t byte_token(unsigned char byte);
unsigned char token_byte(std::int32_t id);

}  // namespace orrery
