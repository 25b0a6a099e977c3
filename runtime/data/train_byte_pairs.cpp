// SPDX-License-Identifier: Apache-2.0
// Learns the merges of a byte-pair encoding. Every distinct word is stored once with its count, and
// every pair with the words that may contain it. A heap gives the most frequent pair; an outdated
// entry is replaced when it reaches the top. Memory is proportional to the distinct words, and time
// to their length times the merges that touch them.
#include <algorithm>
#include <map>
#include <queue>
#include <unordered_map>

#include "runtime/data/byte_pair_encoding.h"
#include "runtime/data/pretokenize.h"

namespace orrery {
namespace {

using Merge = BytePairEncoding::Merge;

struct Word {
    std::vector<std::int32_t> ids;
    std::int64_t count = 0;
};

struct Candidate {
    std::int64_t count = 0;
    Merge pair;
    bool operator<(const Candidate& other) const {
        return count != other.count ? count < other.count : other.pair < pair;
    }
};

std::vector<Word> count_words(std::string_view text) {
    std::unordered_map<std::string_view, std::size_t> known;
    std::vector<Word> words;  // in order of first occurrence
    while (!text.empty()) {
        const std::string_view word = first_word(text, BytePairEncoding::kLongestWord);
        text.remove_prefix(word.size());
        const auto [entry, added] = known.try_emplace(word, words.size());
        if (added) {
            Word& fresh = words.emplace_back();
            for (const char c : word) {
                fresh.ids.push_back(byte_token(static_cast<unsigned char>(c)));
            }
        }
        ++words[entry->second].count;
    }
    return words;
}

class PairCounts {
public:
    explicit PairCounts(std::vector<Word> words) : words_(std::move(words)) {
        for (std::size_t w = 0; w < words_.size(); ++w) {
            add(w, 1);
        }
        push_changed();
    }

    // The most frequent pair; count 0 if there is none.
    Candidate best() {
        while (!heap_.empty()) {
            const Candidate top = heap_.top();
            const std::int64_t now = pairs_.at(top.pair).count;
            if (top.count == now) {
                return top;
            }
            heap_.pop();
            if (now > 0) {
                heap_.push({now, top.pair});
            }
        }
        return {};
    }

    void merge(const Merge& pair, std::int32_t id) {
        std::vector<std::size_t> holders = std::move(pairs_.at(pair).words);
        std::sort(holders.begin(), holders.end());
        holders.erase(std::unique(holders.begin(), holders.end()), holders.end());
        for (const std::size_t w : holders) {
            add(w, -1);
            std::vector<std::int32_t>& ids = words_[w].ids;
            std::size_t kept = 0;
            for (std::size_t i = 0; i < ids.size(); ++i) {
                const bool here = i + 1 < ids.size() && Merge{ids[i], ids[i + 1]} == pair;
                ids[kept++] = here ? id : ids[i];
                i += here ? 1 : 0;
            }
            ids.resize(kept);
            add(w, 1);
        }
        push_changed();
    }

private:
    struct Pair {
        std::int64_t count = 0;
        std::vector<std::size_t> words;  // that contain it, or did
    };

    void add(std::size_t w, int sign) {
        const Word& word = words_[w];
        for (std::size_t i = 0; i + 1 < word.ids.size(); ++i) {
            const Merge key{word.ids[i], word.ids[i + 1]};
            Pair& pair = pairs_[key];
            pair.count += sign * word.count;
            changed_.push_back(key);
            if (sign > 0 && (pair.words.empty() || pair.words.back() != w)) {
                pair.words.push_back(w);
            }
        }
    }
    void push_changed() {
        std::sort(changed_.begin(), changed_.end());
        changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
        for (const Merge& key : changed_) {
            if (const std::int64_t count = pairs_.at(key).count; count > 0) {
                heap_.push({count, key});
            }
        }
        changed_.clear();
    }

    std::vector<Word> words_;
    std::map<Merge, Pair> pairs_;
    std::vector<Merge> changed_;
    std::priority_queue<Candidate> heap_;
};

}  // namespace

BytePairEncoding BytePairEncoding::train(std::string_view text, std::int64_t vocabulary) {
    PairCounts pairs{count_words(text)};
    std::vector<Merge> merges;
    for (std::int64_t id = 256; id < vocabulary; ++id) {
        const Candidate best = pairs.best();
        if (best.count < 2) {
            break;
        }
        merges.push_back(best.pair);
        pairs.merge(best.pair, static_cast<std::int32_t>(id));
    }
    return BytePairEncoding{std::move(merges)};
}

}  // namespace orrery
