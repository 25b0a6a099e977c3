// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/init.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <memory>
#include <sstream>

#include "scenarios/format/document/output_file.h"
#include "scenarios/program/common_options.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/report/render/terminal.h"

namespace orrery {
namespace {

// The user's answer, or the default.
std::string asked(const std::string& question, const std::string& usual) {
    print_to_stderr(fmt::format("{} [{}]: ", question, usual));
    std::string line;
    std::getline(std::cin, line);
    return line.empty() ? usual : line;
}

// Repeats the question until the answer is a number. 0: the default.
std::uint32_t asked_number(const std::string& question, const std::string& usual) {
    for (std::string answer = asked(question, usual); answer != usual;) {
        std::int64_t number = 0;
        if (std::istringstream{answer} >> number && number > 0 && number <= 1'000'000) {
            return static_cast<std::uint32_t>(number);
        }
        answer = asked(question, usual);
    }
    return 0;
}

void ask(FirstScenario& wanted) {
    if (isatty(STDIN_FILENO) == 0) {
        return;
    }
    if (wanted.model.empty()) {
        wanted.model = asked("Model (orrery catalogue models)", "llama-3-8b");
    }
    if (wanted.node.empty()) {
        wanted.node = asked("Server (orrery catalogue nodes)", "dgx-h100");
    }
    if (wanted.nodes == 0) {
        wanted.nodes = asked_number("Number of servers", "1");
    }
    if (wanted.tensor == 0) {
        wanted.tensor = asked_number("Ranks of a layer (tensor parallel)", "as few as fit");
    }
}

}  // namespace

int init_command(InitArguments arguments) {
    arguments.file = arguments.file.empty() ? "-" : arguments.file;
    std::error_code ignored;
    const bool exists = std::filesystem::is_regular_file(arguments.file, ignored);
    if (exists && !arguments.overwrite && arguments.file != "-") {
        return report_error({arguments.file, "is there already", "--overwrite replaces it"});
    }
    ask(arguments.scenario);
    const bool no_model = arguments.scenario.model.empty();
    if (no_model || arguments.scenario.node.empty()) {
        return report_error({"init",
                             no_model ? "a model is missing" : "a server is missing",
                             "--model llama-3-8b --node dgx-h100; see orrery catalogue"});
    }
    const ResultOrErrors<std::string> text = first_scenario(arguments.scenario);
    if (!text) {
        return report_errors(text.error());
    }
    if (const auto written = OutputFile::write(arguments.file, *text); !written) {
        return report_error(written.error());
    }
    if (arguments.file != "-") {
        print_note(fmt::format("wrote {0}; next: orrery simulate {0}", arguments.file));
    }
    return kExitOk;
}

Command describe_init() {
    const auto arguments = std::make_shared<InitArguments>();
    FirstScenario& wanted = arguments->scenario;
    const CommandOption output =
        output_option(arguments->file, "Scenario to write (YAML); standard output if absent");
    const auto count = [](const char* name, std::uint32_t& target, const char* help) {
        return number_option(name, target, help, "N", 1, 1'000'000);
    };
    return {
        .name = "init",
        .group = CommandGroup::scenarios,
        .help = "Write a first scenario, from options or by asking",
        .options = {output,
                    old_option("file", "--output", output),
                    {"--model", &wanted.model, "The catalogue's model", "NAME"},
                    {"--node", &wanted.node, "The catalogue's server", "NAME"},
                    count("--nodes", wanted.nodes, "Number of servers (1)"),
                    {"--fabric",
                     &wanted.fabric,
                     "The catalogue's network of several servers (ndr400-rail)",
                     "NAME"},
                    count("--tensor", wanted.tensor, "Tensor-parallel ranks (as few as fit)"),
                    count("--pipeline", wanted.pipeline, "Pipeline stages (as few as fit)"),
                    count("--batch",
                          wanted.batch,
                          "Sequences of a step (16 micro-batches a replica)"),
                    {"--overwrite", &arguments->overwrite, "Replace a file that is there"}},
        .examples = {"init -o my.yaml",
                     "init -o my.yaml --model llama-3-70b --node dgx-h100 --nodes 16 --tensor 8"},
        .run = [arguments] { return init_command(*arguments); },
    };
}

}  // namespace orrery
