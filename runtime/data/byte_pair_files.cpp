// SPDX-License-Identifier: Apache-2.0
// A byte-pair encoding in Hugging Face's files. Bytes appear as GPT-2's printable characters: a
// byte that is printable in Latin-1 as itself, others as U+0100 and on. merges.txt has a comment
// line, then the two parts of a merge on each line. vocab.json has {"token": id, …}, which follows
// from the merges.
#include <fmt/format.h>

#include <fstream>
#include <optional>
#include <sstream>

#include "engine/base/input_file.h"
#include "runtime/data/byte_pair_encoding.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMerges = "merges.txt";
constexpr const char* kVocabulary = "vocab.json";
constexpr std::string_view kVersion = "#version: 0.2\n";

// The number of printable bytes, which come first in GPT-2's order.
constexpr std::int32_t kPrinting = 188;

std::uint32_t character_of(unsigned char byte) {
    const std::int32_t id = byte_token(byte);
    return id < kPrinting ? byte : static_cast<std::uint32_t>(0x100 + id - kPrinting);
}

std::string utf8(std::uint32_t code) {  // below U+0800
    return code < 0x80 ? std::string(1, static_cast<char>(code))
                       : std::string{static_cast<char>(0xC0 | code >> 6),
                                     static_cast<char>(0x80 | (code & 0x3F))};
}

std::string printable(std::string_view bytes) {
    std::string text;
    for (const char c : bytes) {
        text += utf8(character_of(static_cast<unsigned char>(c)));
    }
    return text;
}

std::map<std::string, std::int32_t> printable_bytes() {
    std::map<std::string, std::int32_t> ids;
    for (std::int32_t id = 0; id < 256; ++id) {
        ids[utf8(character_of(token_byte(id)))] = id;
    }
    return ids;
}

std::string merges_text(const BytePairEncoding& encoding) {
    std::string text{kVersion};
    const auto word = [&](std::int32_t id) { return printable(encoding.decode({{id}})); };
    for (const auto& [left, right] : encoding.merges()) {
        text += word(left) + " " + word(right) + "\n";
    }
    return text;
}

std::string vocabulary_text(const BytePairEncoding& encoding) {
    std::string text = "{";
    for (std::int32_t id = 0; id < encoding.vocabulary(); ++id) {
        std::string token;
        for (const char c : printable(encoding.decode({{id}}))) {
            token += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
        }
        text += fmt::format("{}\"{}\":{}", id == 0 ? "" : ",", token, id);
    }
    return text + "}\n";
}

std::optional<std::string> contents(const fs::path& path) {
    std::ifstream file{path, std::ios::binary};
    if (!file) {
        return std::nullopt;
    }
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

}  // namespace

Result<BytePairEncoding> BytePairEncoding::open(const fs::path& folder) {
    const fs::path path = folder / kMerges;
    auto file = open_input(path, "orrery tokenize --bpe makes one");
    if (!file) {
        return unexpected<Error>(file.error());
    }
    std::map<std::string, std::int32_t> ids = printable_bytes();
    std::vector<Merge> merges;
    std::string line;
    for (std::int64_t number = 1; std::getline(*file, line); ++number) {
        if (line.empty() || (number == 1 && line.starts_with("#version"))) {
            continue;
        }
        const std::size_t space = line.find(' ');
        const auto left = ids.find(line.substr(0, space));
        const auto right =
            space == std::string::npos ? ids.end() : ids.find(line.substr(space + 1));
        if (left == ids.end() || right == ids.end() ||
            static_cast<std::int64_t>(merges.size()) + 256 >= kLargestVocabulary) {
            return fail(fmt::format("{}:{}", path.string(), number),
                        "is no merge of two tokens that are known by then");
        }
        const auto id = static_cast<std::int32_t>(256 + merges.size());
        merges.emplace_back(left->second, right->second);
        ids.emplace(left->first + right->first, id);
    }
    return BytePairEncoding{std::move(merges)};
}

Result<void> BytePairEncoding::save(const fs::path& folder, FileSystem& files) const {
    for (const auto& [name, text] :
         {std::pair{kMerges, merges_text(*this)}, std::pair{kVocabulary, vocabulary_text(*this)}}) {
        const fs::path path = folder / name;
        if (const auto there = contents(path); there && *there != text) {
            return fail(path.string(),
                        "is of another vocabulary, which tokens may have been made with",
                        "write to another folder, or remove it");
        }
        const Result<void> done = files.write_file(path, {std::as_bytes(std::span{text})});
        if (!done) {
            return done;
        }
    }
    return {};
}

}  // namespace orrery
