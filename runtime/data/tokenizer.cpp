// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/tokenizer.h"

#include "runtime/data/tokenize.h"

namespace orrery {

Result<Tokenizer> Tokenizer::find(std::span<const std::filesystem::path> folders) {
    for (const std::filesystem::path& folder : folders) {
        std::error_code error;
        if (std::filesystem::exists(folder / "merges.txt", error)) {
            Result<BytePairEncoding> encoding = BytePairEncoding::open(folder);
            if (!encoding) {
                return unexpected<Error>(encoding.error());
            }
            return Tokenizer{std::move(*encoding)};
        }
    }
    return Tokenizer{};
}

std::int64_t Tokenizer::vocabulary() const {
    return encoding_ ? encoding_->vocabulary() : kByteVocabulary;
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view text) const {
    if (encoding_) {
        return encoding_->encode(text);
    }
    std::vector<std::int32_t> ids;
    for (const char c : text) {
        ids.push_back(static_cast<unsigned char>(c));
    }
    return ids;
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids) const {
    if (encoding_) {
        return encoding_->decode(ids);
    }
    std::string text;
    for (const std::int32_t id : ids) {
        if (id >= 0 && id < kByteVocabulary) {
            text += static_cast<char>(id);
        }
    }
    return text;
}

Result<void> Tokenizer::save(const std::filesystem::path& folder) const {
    return encoding_ ? encoding_->save(folder) : Result<void>{};
}

}  // namespace orrery
