// SPDX-License-Identifier: Apache-2.0
#include "scenarios/commands/train.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "runtime/tokenize.h"
#include "runtime/trainer.h"
#include "scenarios/commands/exit_status.h"
#include "scenarios/quantity.h"
#include "scenarios/reader.h"

namespace orrery {
namespace {

// Tokens that go with the model's vocabulary. Errors stand at the scenario's job.dataset.
Result<Tokens> dataset_of(const Scenario& scenario) {
    Result<Tokens> tokens = load_tokens(scenario.job.training.dataset);
    if (!tokens) {
        Error error = tokens.error();
        error.what = error.where + " " + error.what;
        error.where = scenario.job.dataset_where;
        return unexpected<Error>(std::move(error));
    }
    if (tokens->vocabulary() > scenario.model.vocab_size) {
        return fail(scenario.job.dataset_where,
                    fmt::format("the dataset has a vocabulary of {} tokens, more than "
                                "model.vocab_size {}",
                                tokens->vocabulary(),
                                scenario.model.vocab_size),
                    "a larger vocab_size");
    }
    return tokens;
}

int report_at(Error error, const Scenario& scenario) {
    if (error.where == "job.dataset") {
        error.where = scenario.job.dataset_where;
    }
    return report_error(error);
}

}  // namespace

int train_command(const TrainArguments& arguments) {
    ReadOptions read;
    read.overrides = arguments.overrides;
    read.for_training = true;
    const ResultOrErrors<Scenario> scenario = read_scenario(arguments.file, read);
    if (!scenario) {
        return report_errors(scenario.error());
    }
    const TrainingJob& job = scenario->job.training;
    const Result<Tokens> tokens = dataset_of(*scenario);
    if (!tokens) {
        return report_error(tokens.error());
    }
    auto trainer = Trainer::create(scenario->model, scenario->plan, job, *tokens);
    if (!trainer) {
        return report_at(trainer.error(), *scenario);
    }
    int status =
        print_output(fmt::format("{}: {} parameters, {} tokens of data, {} of tensors a rank\n",
                                 scenario->name,
                                 num_parameters(scenario->model),
                                 tokens->size(),
                                 to_short_text(Bytes{(*trainer)->executor().plan().bytes()})));
    const auto line = [&](const std::string& text) {
        status = status == kExitOk ? print_output(text + "\n") : status;
    };
    if (const Result<void> done = train(**trainer, scenario->plan, job, line); !done) {
        return report_at(done.error(), *scenario);
    }
    return status;
}

int tokenize_command(const TokenizeArguments& arguments) {
    const std::vector<std::filesystem::path> texts(arguments.texts.begin(), arguments.texts.end());
    const Result<Tokens> tokens = load_tokens(texts);
    if (!tokens) {
        return report_error(tokens.error());
    }
    if (const Result<void> written = write_token_file(arguments.output, *tokens); !written) {
        return report_error(written.error());
    }
    return print_output(fmt::format(
        "{}: {} tokens, vocabulary {}\n", arguments.output, tokens->size(), tokens->vocabulary()));
}

}  // namespace orrery
