// SPDX-License-Identifier: Apache-2.0
// The command line of `orrery`: the one owner of CLI11. Each command is a function with plain
// arguments in scenarios/commands.
#include <CLI/CLI.hpp>
#include <exception>
#include <new>

#include "scenarios/commands/exit_status.h"
#include "scenarios/commands/export.h"
#include "scenarios/commands/fit.h"
#include "scenarios/commands/simulate.h"
#include "scenarios/commands/train.h"
#include "scenarios/commands/validate.h"
#include "scenarios/version.h"

namespace orrery {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  orrery simulate scenarios/megascale-175b-12288.yaml\n"
    "  orrery simulate scenarios/llama3-8b-h100.yaml --set plan.global_batch_size=256 --json\n"
    "  orrery simulate scenarios/llama3-70b-h100.yaml --trace llama3.perfetto-trace\n"
    "  orrery validate training.csv\n"
    "  orrery train scenarios/train-tiny-cpu.yaml\n";

void add_simulate(CLI::App& app, SimulateArguments& arguments) {
    CLI::App* command = app.add_subcommand(
        "simulate", "Simulate a training step of a scenario: step time, MFU, memory");
    command->add_option("file", arguments.file, "Scenario file (YAML)")->required();
    command
        ->add_option("--set",
                     arguments.overrides,
                     "Change one key, e.g. --set plan.micro_batch_size=2; can be repeated")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    command->add_flag("--json", arguments.json, "Print one JSON object instead of a report");
    command
        ->add_option("--trace",
                     arguments.trace_file,
                     "Write a Perfetto trace of one rank a role and of the slowest rank")
        ->type_name("FILE");
    command
        ->add_option("--profile",
                     arguments.profile_file,
                     "Measured kernel times (CSV), as orrery train --profile writes them")
        ->type_name("FILE");
    command->add_flag("!--no-fold",
                      arguments.fold,
                      "Simulate every rank on its own (slow; the answer is the same)");
}

void add_validate(CLI::App& app, ValidateArguments& arguments) {
    CLI::App* command = app.add_subcommand(
        "validate", "Simulate published cases and compare with their measured step times");
    command->add_option("cases", arguments.file, "Table of cases (CSV)")->required();
    command
        ->add_option("--family", arguments.families, "Only the cases of a family; can be repeated")
        ->option_text("NAME ...")
        ->allow_extra_args(false);
    command->add_flag("--json", arguments.json, "Print one JSON object instead of a table");
}

void add_fit(CLI::App& app, FitArguments& arguments) {
    CLI::App* command = app.add_subcommand(
        "fit", "Fit the catalogue's general factors of a training step on measured cases");
    command->add_option("cases", arguments.file, "Table of cases (CSV)")->required();
    command->add_option("-o,--output", arguments.output, "Table of factors to write (CSV)")
        ->type_name("FILE");
}

void add_train(CLI::App& app, TrainArguments& arguments) {
    CLI::App* command =
        app.add_subcommand("train", "Train a scenario's model for real, on this machine's CPU");
    command->add_option("file", arguments.file, "Scenario file (YAML) with job.dataset")
        ->required();
    command
        ->add_option("--set",
                     arguments.overrides,
                     "Change one key, e.g. --set job.steps=50; can be repeated")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    command
        ->add_option("--nproc",
                     arguments.num_processes,
                     "Start so many processes here, one a device of the cluster")
        ->check(CLI::Range(1, 64))
        ->type_name("N");
    command
        ->add_option("--profile",
                     arguments.profile_file,
                     "Write the measured kernel times, for orrery simulate --profile")
        ->type_name("FILE");
    command->add_flag(
        "--resume", arguments.resume, "Go on after the latest checkpoint in job.checkpoint_folder");
}

void add_export(CLI::App& app, ExportArguments& arguments) {
    CLI::App* command = app.add_subcommand(
        "export",
        "Write a checkpoint's weights for Hugging Face transformers, with a config.json beside");
    command
        ->add_option("checkpoint", arguments.checkpoint, "A run's job.checkpoint_folder, or a step")
        ->required();
    command->add_option("-o,--output", arguments.output, "safetensors file to write")
        ->type_name("FILE")
        ->required();
    command->add_option("--dtype", arguments.dtype, "fp32 (if not given), bf16 or fp16")
        ->type_name("TYPE");
}

void add_tokenize(CLI::App& app, TokenizeArguments& arguments) {
    CLI::App* command =
        app.add_subcommand("tokenize", "Make a token file of texts, one token a byte");
    command->add_option("texts", arguments.texts, "Text files, one after another")->required();
    command->add_option("-o,--output", arguments.output, "Token file to write")
        ->type_name("FILE")
        ->required();
}

int run(int argc, char** argv) {
    CLI::App app{"Orrery simulates GPU clusters that train transformers.", "orrery"};
    app.footer(kExamples);
    app.set_version_flag("--version", "orrery " + std::string{kVersion});
    app.require_subcommand(1);
    SimulateArguments simulate;
    ValidateArguments validate;
    add_simulate(app, simulate);
    add_validate(app, validate);
    FitArguments fit;
    add_fit(app, fit);
    TrainArguments train;
    TokenizeArguments tokenize;
    add_train(app, train);
    add_tokenize(app, tokenize);
    ExportArguments weights;
    add_export(app, weights);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) {
            return app.exit(error);  // --help and --version
        }
        return report_error({"command line", error.what(), "see orrery --help"});
    }
    if (app.got_subcommand("simulate")) {
        return simulate_command(simulate);
    }
    if (app.got_subcommand("fit")) {
        return fit_command(fit);
    }
    if (app.got_subcommand("train")) {
        return train_command(train);
    }
    if (app.got_subcommand("export")) {
        return export_command(weights);
    }
    if (app.got_subcommand("tokenize")) {
        return tokenize_command(tokenize);
    }
    return validate_command(validate);
}

}  // namespace
}  // namespace orrery

int main(int argc, char** argv) {
    try {
        return orrery::run(argc, argv);
    } catch (const std::bad_alloc&) {
        return orrery::report_error({"", "out of memory", "a smaller scenario, or more memory"});
    } catch (const std::exception& error) {
        return orrery::report_error({"", error.what(), "this is a defect of orrery"});
    }
}
