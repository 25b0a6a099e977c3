// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/tokenize.h"

#include <algorithm>
#include <iostream>
#include <iterator>

#include "engine/base/input_file.h"

namespace orrery {
namespace {

Result<std::string> read_bytes(const std::filesystem::path& path) {
    std::error_code error;
    if (std::filesystem::is_other(path, error)) {
        return fail(path.string(), "is a pipe or a device, which may never end", "a file");
    }
    return read_input(path);
}

}  // namespace

Tokens tokenize_bytes(std::string_view text) {
    std::vector<std::uint16_t> ids;
    ids.reserve(text.size());
    for (const char c : text) {
        ids.push_back(static_cast<unsigned char>(c));
    }
    return Tokens::of(std::move(ids), kByteVocabulary);
}

Result<std::string> read_texts(const std::vector<std::filesystem::path>& files) {
    std::string text;
    for (const std::filesystem::path& path : files) {
        if (is_token_file(path)) {
            return fail(path.string(),
                        "a token file can't be joined with other files",
                        "name it alone, or name texts only");
        }
        if (path == "-") {  // standard input
            text.append(std::istreambuf_iterator<char>{std::cin}, {});
            continue;
        }
        const Result<std::string> more = read_bytes(path);
        if (!more) {
            return unexpected<Error>(more.error());
        }
        text += *more;
    }
    return text;
}

Result<Tokens> load_tokens(const std::vector<std::filesystem::path>& files) {
    if (files.size() == 1 && is_token_file(files.front())) {
        return Tokens::open(files.front());
    }
    const Result<std::string> text = read_texts(files);
    if (!text) {
        return unexpected<Error>(text.error());
    }
    return tokenize_bytes(*text);
}

}  // namespace orrery
