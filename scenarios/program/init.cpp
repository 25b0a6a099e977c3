// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/init.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <iostream>
#include <memory>

#include "scenarios/format/document/output_file.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/report/terminal.h"

namespace orrery {
namespace {

// An answer from the terminal, or the usual one.
std::string asked(const std::string& question, const std::string& usual) {
    fmt::print(stderr, "{} [{}]: ", question, usual);
    std::string line;
    std::getline(std::cin, line);
    return line.empty() ? usual : line;
}

// A number from the terminal. What is no number is asked again; at the end of the input it is the
// usual one.
std::uint32_t asked_number(const std::string& question, const std::string& usual) {
    while (true) {
        const std::string answer = asked(question, usual);
        std::uint32_t number = 0;
        const char* const end = answer.data() + answer.size();
        const auto read = std::from_chars(answer.data(), end, number);
        if (answer == usual || (read.ec == std::errc{} && read.ptr == end)) {
            return number;
        }
        fmt::print(stderr, "'{}' is no whole number.\n", answer);
    }
}

void ask(InitArguments& arguments) {
    if (isatty(STDIN_FILENO) == 0) {
        return;
    }
    if (arguments.scenario.model.empty()) {
        arguments.scenario.model = asked("Model (orrery catalogue models)", "llama-3-8b");
    }
    if (arguments.scenario.node.empty()) {
        arguments.scenario.node = asked("Server (orrery catalogue nodes)", "dgx-h100");
    }
    if (arguments.scenario.nodes == 0) {
        arguments.scenario.nodes = asked_number("Number of servers", "1");
    }
    if (arguments.scenario.tensor == 0) {
        arguments.scenario.tensor =
            asked_number("Ranks that split each layer (tensor parallel)", "as few as fit");
    }
}

}  // namespace

int init_command(InitArguments arguments) {
    std::error_code ignored;
    if (std::filesystem::is_directory(arguments.file, ignored)) {
        return report_error({arguments.file, "is a folder", "the name of a file in it"});
    }
    if (!arguments.overwrite && arguments.file != "-" &&
        std::filesystem::exists(arguments.file, ignored)) {
        return report_error({arguments.file, "is there already", "--overwrite replaces it"});
    }
    ask(arguments);
    if (arguments.scenario.model.empty()) {
        return report_error({"init",
                             "a model is missing",
                             "--model llama-3-8b, for example; see orrery catalogue models"});
    }
    if (arguments.scenario.node.empty()) {
        return report_error({"init",
                             "a server is missing",
                             "--node dgx-h100, for example; see orrery catalogue nodes"});
    }
    const ResultOrErrors<std::string> text = first_scenario(arguments.scenario);
    if (!text) {
        return report_errors(text.error());
    }
    if (const auto written = OutputFile::write(arguments.file, *text); !written) {
        return report_error(written.error());
    }
    print_note(fmt::format("wrote {}; next: orrery simulate {}", arguments.file, arguments.file));
    return kExitOk;
}

Command describe_init() {
    const auto arguments = std::make_shared<InitArguments>();
    const auto count = [](const char* name, std::uint32_t& target, const char* help) {
        return CommandOption{.names = name,
                             .target = &target,
                             .help = help,
                             .type_name = "N",
                             .least = 1,
                             .most = 1'000'000};
    };
    return {
        .name = "init",
        .help = "Write a first scenario, from options or by asking",
        .options =
            {{"file", &arguments->file, "File to write; '-' is standard output", "FILE", true},
             {"--model", &arguments->scenario.model, "The catalogue's model", "NAME"},
             {"--node", &arguments->scenario.node, "The catalogue's server", "NAME"},
             count("--nodes", arguments->scenario.nodes, "Number of servers (1)"),
             {"--fabric",
              &arguments->scenario.fabric,
              "The catalogue's network of several servers (ndr400-rail)",
              "NAME"},
             count("--tensor", arguments->scenario.tensor, "Tensor-parallel ranks (as few as fit)"),
             count("--pipeline", arguments->scenario.pipeline, "Pipeline stages (as few as fit)"),
             count("--batch",
                   arguments->scenario.batch,
                   "Sequences of a step (16 micro-batches a replica)"),
             {"--overwrite", &arguments->overwrite, "Replace a file that is there"}},
        .examples = {"init my.yaml",
                     "init my.yaml --model llama-3-70b --node dgx-h100 --nodes 16 "
                     "--tensor 8 --pipeline 4"},
        .run = [arguments] { return init_command(*arguments); },
    };
}

}  // namespace orrery
