// SPDX-License-Identifier: Apache-2.0
// Byte-level byte-pair encoding as in GPT-2 (Sennrich et al., ACL 2016; Radford et al. 2019). A
// text is cut into words (runtime/data/pretokenize.h). A word starts as its bytes, and the pair of
// neighbours with the earliest merge in the list is merged, until no pair has a merge. Token ids: 0
// to 255 are the bytes in GPT-2's order, then the merges in their order. Any bytes can be encoded
// and decode to the same bytes. Words longer than kLongestWord are encoded in pieces, which bounds
// the time.
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

    // A merge may use only ids of bytes and of earlier merges.
    explicit BytePairEncoding(std::vector<Merge> merges);
    // Learns as many merges as the vocabulary allows. Each is the most frequent pair of the text at
    // that point; on ties the pair with the smaller ids. Stops early if no pair occurs twice.
    static BytePairEncoding train(std::string_view text, std::int64_t vocabulary);

    // Reads merges.txt of a folder; Error::where is its path.
    static Result<BytePairEncoding> open(const std::filesystem::path& folder);
    // Writes vocab.json and merges.txt in Hugging Face's form. Fails if the folder has those of
    // another vocabulary, because tokens made with them would become unreadable.
    Result<void> save(const std::filesystem::path& folder, FileSystem& files = disk()) const;

    std::int64_t vocabulary() const { return static_cast<std::int64_t>(bytes_.size()); }
    const std::vector<Merge>& merges() const { return merges_; }
    std::vector<std::int32_t> encode(std::string_view text) const;
    // Skips ids that are not in the vocabulary.
    std::string decode(std::span<const std::int32_t> ids) const;

private:
    std::vector<std::int32_t> encode_word(std::string_view word) const;

    std::vector<Merge> merges_;
    std::map<Merge, std::int32_t> merged_;  // id of the merged pair
    std::vector<std::string> bytes_;        // of each token
};

// The id of a byte's token, and the byte of such an id.
std::int32_t byte_token(unsigned char byte);
unsigned char token_byte(std::int32_t id);

}  // namespace orrery
