// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/train/tokenized_texts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <string_view>
#include <utility>

#include "runtime/data/tokenize.h"
#include "runtime/data/tokenizer.h"
#include "scenarios/format/document/output_file.h"

namespace orrery {
namespace {

Tokens tokens_of(const std::vector<std::int32_t>& ids, std::int64_t vocabulary) {
    std::vector<std::uint16_t> narrow;
    narrow.reserve(ids.size());
    for (const std::int32_t id : ids) {
        narrow.push_back(static_cast<std::uint16_t>(id));
    }
    return Tokens::of(std::move(narrow), vocabulary);
}

Result<BytePairEncoding> encoding_of(const TokenizeSpec& spec, std::string_view text) {
    return spec.tokenizer.empty()
               ? Result<BytePairEncoding>{BytePairEncoding::train(text, spec.vocabulary)}
               : BytePairEncoding::open(spec.tokenizer);
}

Result<Tokens> no_text(const TokenizeSpec& spec) {
    return fail(fmt::format("{}", fmt::join(spec.texts, ", ")),
                "holds no text to make tokens of",
                "name a text that is not empty");
}

// No output may be one of the texts, whatever the paths.
Result<void> check_outputs(const TokenizeSpec& spec) {
    if (spec.output == "-") {
        return fail("--output", "a token file can't be standard output", "the name of a file");
    }
    const std::filesystem::path output = spec.output;
    std::vector<std::filesystem::path> outputs{output};
    if (spec.vocabulary > 0 || !spec.tokenizer.empty()) {
        outputs.push_back(output.parent_path() / "vocab.json");
        outputs.push_back(output.parent_path() / "merges.txt");
    }
    for (const std::string& text : spec.texts) {
        for (const std::filesystem::path& written : outputs) {
            std::error_code ignored;
            if (std::filesystem::equivalent(text, written, ignored)) {
                return fail(written.string(),
                            "would replace the text that it is made of",
                            "choose another name with -o");
            }
        }
    }
    return {};
}

// With an encoding the output's folder belongs to the encoding and is made. Otherwise it must
// exist.
Result<void> prepare_output(const TokenizeSpec& spec) {
    const std::filesystem::path output = spec.output;
    if (const Result<void> others = check_outputs(spec); !others) {
        return others;
    }
    const bool encodes = spec.vocabulary > 0 || !spec.tokenizer.empty();
    if (encodes && output.has_parent_path()) {
        if (const Result<void> made = disk().create_folder(output.parent_path()); !made) {
            return made;
        }
    }
    const auto writable = OutputFile::open(output);
    return writable ? Result<void>{} : unexpected<Error>(writable.error());
}

Result<Tokens> make_tokens(const TokenizeSpec& spec) {
    const std::vector<std::filesystem::path> texts(spec.texts.begin(), spec.texts.end());
    if (spec.vocabulary == 0 && spec.tokenizer.empty()) {
        Result<Tokens> tokens = load_tokens(texts);
        return tokens && tokens->size() == 0 ? no_text(spec) : std::move(tokens);
    }
    const Result<std::string> text = read_texts(texts);
    if (!text) {
        return unexpected<Error>(text.error());
    }
    if (text->empty()) {
        return no_text(spec);
    }
    const Result<BytePairEncoding> encoding = encoding_of(spec, *text);
    if (!encoding) {
        return unexpected<Error>(encoding.error());
    }
    const std::filesystem::path output = spec.output;
    if (const Result<void> saved = encoding->save(output.parent_path()); !saved) {
        return unexpected<Error>(saved.error());
    }
    return tokens_of(encoding->encode(*text), encoding->vocabulary());
}

}  // namespace

Result<Tokens> tokenize_texts(const TokenizeSpec& spec) {
    if (spec.vocabulary > 0 && !spec.tokenizer.empty()) {
        return fail("--bpe",
                    "learns an encoding, and --tokenizer names one that is there",
                    "one of the two");
    }
    if (const Result<void> ready = prepare_output(spec); !ready) {
        return unexpected<Error>(ready.error());
    }
    Result<Tokens> tokens = make_tokens(spec);
    if (tokens) {
        if (const Result<void> written = write_token_file(spec.output, *tokens); !written) {
            return unexpected<Error>(written.error());
        }
    }
    return tokens;
}

}  // namespace orrery
