// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/tokenize.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>
#include <utility>

#include "runtime/data/tokenize.h"
#include "runtime/data/tokenizer.h"
#include "scenarios/format/document/output_file.h"
#include "scenarios/program/exit_status.h"

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

Result<BytePairEncoding> encoding_of(const TokenizeArguments& arguments, std::string_view text) {
    return arguments.tokenizer.empty()
               ? Result<BytePairEncoding>{BytePairEncoding::train(text, arguments.vocabulary)}
               : BytePairEncoding::open(arguments.tokenizer);
}

Result<Tokens> no_text(const TokenizeArguments& arguments) {
    return fail(fmt::format("{}", fmt::join(arguments.texts, ", ")),
                "holds no text to make tokens of",
                "name a text that is not empty");
}

// What is written may be none of the texts, by whatever path they are named.
Result<void> check_outputs(const TokenizeArguments& arguments) {
    const std::filesystem::path output = arguments.output;
    std::vector<std::filesystem::path> outputs{output};
    if (arguments.vocabulary > 0 || !arguments.tokenizer.empty()) {
        outputs.push_back(output.parent_path() / "vocab.json");
        outputs.push_back(output.parent_path() / "merges.txt");
    }
    for (const std::string& text : arguments.texts) {
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

// With an encoding the folder is the encoding's, and is made; else it is one that is there.
Result<void> prepare_output(const TokenizeArguments& arguments) {
    const std::filesystem::path output = arguments.output;
    if (const Result<void> others = check_outputs(arguments); !others) {
        return others;
    }
    const bool encodes = arguments.vocabulary > 0 || !arguments.tokenizer.empty();
    if (encodes && output.has_parent_path()) {
        if (const Result<void> made = disk().create_folder(output.parent_path()); !made) {
            return made;
        }
    }
    const auto writable = OutputFile::open(output);
    return writable ? Result<void>{} : unexpected<Error>(writable.error());
}

Result<Tokens> make_tokens(const TokenizeArguments& arguments) {
    const std::vector<std::filesystem::path> texts(arguments.texts.begin(), arguments.texts.end());
    if (arguments.vocabulary == 0 && arguments.tokenizer.empty()) {
        Result<Tokens> tokens = load_tokens(texts);
        return tokens && tokens->size() == 0 ? no_text(arguments) : std::move(tokens);
    }
    const Result<std::string> text = read_texts(texts);
    if (!text) {
        return unexpected<Error>(text.error());
    }
    if (text->empty()) {
        return no_text(arguments);
    }
    const Result<BytePairEncoding> encoding = encoding_of(arguments, *text);
    if (!encoding) {
        return unexpected<Error>(encoding.error());
    }
    const std::filesystem::path output = arguments.output;
    if (const Result<void> saved = encoding->save(output.parent_path()); !saved) {
        return unexpected<Error>(saved.error());
    }
    return tokens_of(encoding->encode(*text), encoding->vocabulary());
}

}  // namespace

int tokenize_command(const TokenizeArguments& arguments) {
    if (arguments.vocabulary > 0 && !arguments.tokenizer.empty()) {
        return report_error({"--bpe",
                             "learns an encoding, and --tokenizer names one that is there",
                             "one of the two"});
    }
    if (const Result<void> ready = prepare_output(arguments); !ready) {
        return report_error(ready.error());
    }
    const Result<Tokens> tokens = make_tokens(arguments);
    if (!tokens) {
        return report_error(tokens.error());
    }
    if (const Result<void> written = write_token_file(arguments.output, *tokens); !written) {
        return report_error(written.error());
    }
    return print_output(fmt::format(
        "{}: {} tokens, vocabulary {}\n", arguments.output, tokens->size(), tokens->vocabulary()));
}

Command describe_tokenize() {
    const auto arguments = std::make_shared<TokenizeArguments>();
    return {
        .name = "tokenize",
        .help = "Make a token file of texts, one token a byte or by byte-pair encoding",
        .options = {{"texts", &arguments->texts, "Text files, one after another", "FILE", true},
                    {"-o,--output", &arguments->output, "Token file to write", "FILE", true},
                    {"--bpe",
                     &arguments->vocabulary,
                     "Learn a byte-pair encoding with VOCAB_SIZE tokens from the texts; vocab.json "
                     "and merges.txt are written beside the token file",
                     "VOCAB_SIZE",
                     false,
                     256,
                     BytePairEncoding::kLargestVocabulary},
                    {"--tokenizer",
                     &arguments->tokenizer,
                     "Use the merges.txt of this folder, learned before",
                     "FOLDER"}},
        .examples = {"tokenize README.md -o build/readme.tokens",
                     "tokenize README.md --bpe 1024 -o build/readme-1024/tokens"},
        .run = [arguments] { return tokenize_command(*arguments); },
    };
}

}  // namespace orrery
