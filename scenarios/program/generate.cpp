// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "runtime/data/tokenizer.h"
#include "runtime/generate.h"
#include "scenarios/program/common_options.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/show_output.h"
#include "scenarios/report/facts_report.h"

namespace orrery {
namespace {

Result<Tokenizer> tokenizer_of(const GenerateArguments& arguments) {
    std::vector<std::filesystem::path> folders{arguments.checkpoint,
                                               std::filesystem::path{arguments.checkpoint} / ".."};
    if (!arguments.tokenizer.empty()) {
        folders = {arguments.tokenizer};
    }
    Result<Tokenizer> found = Tokenizer::find(folders);
    if (found && found->by_bytes() && !arguments.tokenizer.empty()) {
        return fail(arguments.tokenizer, "has no merges.txt", "orrery tokenize --bpe makes one");
    }
    return found;
}

}  // namespace

int generate_command(const GenerateArguments& arguments) {
    if (!(arguments.temperature >= 0 && arguments.temperature <= 100)) {
        return report_error({"--temperature",
                             fmt::format("{} is out of range", arguments.temperature),
                             "0 to 100"});
    }
    const Result<Tokenizer> tokenizer = tokenizer_of(arguments);
    if (!tokenizer) {
        return report_error(tokenizer.error());
    }
    const Result<LoadedModel> loaded = load_model(arguments.checkpoint);
    if (!loaded) {
        return report_error(loaded.error());
    }
    const std::vector<std::int32_t> prompt = tokenizer->encode(arguments.prompt);
    const bool known =
        std::ranges::all_of(prompt, [&](std::int32_t id) { return id < loaded->model.vocab_size; });
    if (prompt.empty() || !known) {
        return report_error(
            {"--prompt",
             prompt.empty() ? "is empty" : "has tokens that the model's vocabulary has not",
             "another text, or the --tokenizer that the data was made with"});
    }
    const auto tokens = generate_tokens(*loaded->executor,
                                        loaded->model,
                                        prompt,
                                        arguments.tokens,
                                        {.temperature = arguments.temperature,
                                         .top_k = arguments.top_k,
                                         .seed = arguments.seed,
                                         .vocabulary = tokenizer->vocabulary()});
    if (!tokens) {
        return report_error(tokens.error());
    }
    const std::string text = tokenizer->decode(*tokens);
    const std::vector<Fact> facts{{"prompt", arguments.prompt, Unit::words},
                                  {"text", text, Unit::words},
                                  {"tokens", tokens->size()}};
    return show_output(arguments,
                       {.report = facts_report("Generated text", facts),
                        .json = facts_json(facts),
                        .provenance = provenance_of("generate"),
                        .text = arguments.prompt + text + "\n"});
}

Command describe_generate() {
    const auto arguments = std::make_shared<GenerateArguments>();
    return {
        .name = "generate",
        .group = CommandGroup::train,
        .help = "Let a trained model go on from a text, token by token",
        .options = joined(
            {{{"checkpoint",
               &arguments->checkpoint,
               "A run's job.checkpoint_folder, or a step",
               "FOLDER",
               true},
              {"--prompt", &arguments->prompt, "Text to go on from (a new line)", "TEXT"},
              number_option(
                  "--tokens", arguments->tokens, "How many tokens to add (200)", "N", 1, 1'000'000),
              {"--temperature",
               &arguments->temperature,
               "Of the draw (0.8); 0: always the likeliest token",
               "T"},
              number_option("--top-k",
                            arguments->top_k,
                            "Draw among the K likeliest tokens; 0: among all",
                            "K",
                            0,
                            1'000'000),
              {"--seed", &arguments->seed, "The same seed, the same text", "N"},
              {"--tokenizer",
               &arguments->tokenizer,
               "Folder of merges.txt (the checkpoint's; bytes if it has none)",
               "FOLDER"}},
             view_options(*arguments, {})}),
        .examples = {"generate build/run --prompt 'The '"},
        .run = [arguments] { return generate_command(*arguments); },
    };
}

}  // namespace orrery
