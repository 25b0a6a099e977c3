// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/tokenize.h"

#include <fmt/format.h>

#include <memory>
#include <vector>

#include "runtime/data/tokenizer.h"
#include "scenarios/program/common_options.h"
#include "scenarios/program/run_study.h"
#include "scenarios/report/facts_report.h"

namespace orrery {
namespace {

ResultOrErrors<StudyOutput> tokenize_output(const TokenizeSpec& spec) {
    const Result<Tokens> tokens = tokenize_texts(spec);
    if (!tokens) {
        return unexpected<Errors>(Errors{tokens.error()});
    }
    const std::string sentence = fmt::format(
        "{}: {} tokens, vocabulary {}", spec.output, tokens->size(), tokens->vocabulary());
    const std::vector<Fact> facts{{"file", spec.output, Unit::words},
                                  {"tokens", tokens->size()},
                                  {"vocabulary", tokens->vocabulary()}};
    return StudyOutput{.report = facts_report(sentence, facts),
                       .json = facts_json(facts),
                       .provenance = provenance_of("tokenize"),
                       .text = sentence + "\n"};
}

}  // namespace

int tokenize_command(const TokenizeArguments& arguments) {
    return run_study(arguments, arguments.spec.output, "tokenizing", [&](const auto&) {
        return tokenize_output(arguments.spec);
    });
}

Command describe_tokenize() {
    const auto arguments = std::make_shared<TokenizeArguments>();
    return {
        .name = "tokenize",
        .group = CommandGroup::train,
        .help = "Make a token file of texts, one token a byte or by byte-pair encoding",
        .options = joined(
            {{{"texts",
               &arguments->spec.texts,
               "Text files, one after another; '-' is standard input",
               "FILE",
               true},
              {"-o,--output", &arguments->spec.output, "Token file to write", "FILE", true},
              {"--bpe",
               &arguments->spec.vocabulary,
               "Learn a byte-pair encoding with VOCAB_SIZE tokens from the texts; vocab.json "
               "and merges.txt are written beside the token file",
               "VOCAB_SIZE",
               false,
               256,
               BytePairEncoding::kLargestVocabulary},
              {"--tokenizer",
               &arguments->spec.tokenizer,
               "Use the merges.txt of this folder, learned before",
               "FOLDER"}},
             view_options(*arguments, {})}),
        .examples = {"tokenize README.md -o build/readme.tokens",
                     "tokenize README.md --bpe 1024 -o build/readme-1024/tokens"},
        .run = [arguments] { return tokenize_command(*arguments); },
    };
}

}  // namespace orrery
