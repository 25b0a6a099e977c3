// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/byte_pair_encoding.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "engine/base/check.h"
#include "runtime/data/pretokenize.h"

namespace orrery {
namespace {

constexpr std::int32_t kBytes = 256;

// GPT-2's order of the bytes: first the printable bytes of Latin-1, then the others.
struct ByteOrder {
    std::array<std::int32_t, kBytes> id{};
    std::array<unsigned char, kBytes> byte{};
};

ByteOrder make_byte_order() {
    const auto prints = [](int b) { return (b > 32 && b < 127) || (b > 160 && b != 173); };
    ByteOrder order;
    std::int32_t next = 0;
    for (const bool printing : {true, false}) {
        for (int b = 0; b < kBytes; ++b) {
            if (prints(b) == printing) {
                order.id[static_cast<std::size_t>(b)] = next;
                order.byte[static_cast<std::size_t>(next++)] = static_cast<unsigned char>(b);
            }
        }
    }
    return order;
}

const ByteOrder& byte_order() {
    static const ByteOrder order = make_byte_order();
    return order;
}

}  // namespace

std::int32_t byte_token(unsigned char byte) {
    return byte_order().id[byte];
}

unsigned char token_byte(std::int32_t id) {
    ORRERY_CHECK(id >= 0 && id < kBytes);
    return byte_order().byte[static_cast<std::size_t>(id)];
}

BytePairEncoding::BytePairEncoding(std::vector<Merge> merges) : merges_(std::move(merges)) {
    for (std::int32_t id = 0; id < kBytes; ++id) {
        bytes_.emplace_back(1, static_cast<char>(token_byte(id)));
    }
    for (const Merge& merge : merges_) {
        const auto id = static_cast<std::int32_t>(bytes_.size());
        ORRERY_CHECK(merge.first < id && merge.second < id);
        merged_.emplace(merge, id);
        bytes_.push_back(bytes_[static_cast<std::size_t>(merge.first)] +
                         bytes_[static_cast<std::size_t>(merge.second)]);
    }
}

std::vector<std::int32_t> BytePairEncoding::encode_word(std::string_view word) const {
    std::vector<std::int32_t> ids;
    for (const char c : word) {
        ids.push_back(byte_token(static_cast<unsigned char>(c)));
    }
    while (ids.size() > 1) {
        auto best = merged_.end();
        for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
            const auto found = merged_.find({ids[i], ids[i + 1]});
            if (found != merged_.end() && (best == merged_.end() || found->second < best->second)) {
                best = found;
            }
        }
        if (best == merged_.end()) {
            break;
        }
        std::size_t kept = 0;
        for (std::size_t i = 0; i < ids.size(); ++i) {
            const bool here = i + 1 < ids.size() && Merge{ids[i], ids[i + 1]} == best->first;
            ids[kept++] = here ? best->second : ids[i];
            i += here ? 1 : 0;
        }
        ids.resize(kept);
    }
    return ids;
}

std::vector<std::int32_t> BytePairEncoding::encode(std::string_view text) const {
    constexpr std::size_t kMostRemembered = 1 << 18;
    std::unordered_map<std::string_view, std::vector<std::int32_t>> known;
    std::vector<std::int32_t> ids;
    while (!text.empty()) {
        const std::string_view word = first_word(text, kLongestWord);
        text.remove_prefix(word.size());
        if (known.size() == kMostRemembered) {
            known.clear();
        }
        const auto [entry, added] = known.try_emplace(word);
        if (added) {
            entry->second = encode_word(word);
        }
        ids.insert(ids.end(), entry->second.begin(), entry->second.end());
    }
    return ids;
}

std::string BytePairEncoding::decode(std::span<const std::int32_t> ids) const {
    std::string text;
    for (const std::int32_t id : ids) {
        if (id >= 0 && id < vocabulary()) {
            text += bytes_[static_cast<std::size_t>(id)];
        }
    }
    return text;
}

}  // namespace orrery
