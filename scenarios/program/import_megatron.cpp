// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>

#include "scenarios/format/document/yaml_document.h"
#include "scenarios/format/import/megatron_command.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/import.h"
#include "scenarios/program/import_words.h"

namespace orrery {
namespace {

// Errors name the file, also if it holds no flags.
ResultOrErrors<LaunchCommand> launch_of_file(const std::string& file) {
    const auto text = read_text_file(file);
    if (!text) {
        return unexpected<Errors>({text.error()});
    }
    auto launch = launch_command(*text, file);
    if (launch && launch->words.empty()) {
        return unexpected<Errors>({{file,
                                    "holds no flags of Megatron-LM",
                                    "a launch script, or the command line of pretrain_gpt.py"}});
    }
    return launch;
}

// Reads a script, a pasted command line, or the words of one.
ResultOrErrors<LaunchCommand> launch_of(const ImportArguments& arguments) {
    std::error_code ignored;
    if (arguments.words.size() == 1) {
        const std::string& only = arguments.words.front();
        return only == "-" || std::filesystem::exists(only, ignored)
                   ? launch_of_file(only)
                   : launch_command(only, "command line");
    }
    LaunchCommand launch;
    for (const std::string& word : arguments.words) {
        launch.words.push_back({word, fmt::format("word {}", launch.words.size() + 1)});
    }
    return launch;
}

}  // namespace

int import_megatron_command(const ImportArguments& arguments) {
    const auto launch = launch_of(arguments);
    if (!launch) {
        return report_errors(launch.error());
    }
    note_each("not followed", launch->passed_over);
    const auto imported = import_megatron(launch->words,
                                          {.node = arguments.node,
                                           .fabric = fabric_of_import(arguments),
                                           .nodes = arguments.nodes,
                                           .gpus_per_node = gpus_of_node(arguments.node),
                                           .trays = number_of_node(arguments.node, "trays", 1),
                                           .software = arguments.software});
    if (!imported) {
        return report_errors(imported.error());
    }
    note_each("switched off, as Megatron-LM does", imported->changed);
    note_each("not known, and left out", imported->unknown);
    note_each("left out, as the step does not depend on them", imported->without_effect);
    note_each("not in the command line", imported->assumed);
    // Errors of the imported scenario have the place of their flag.
    const auto scenario = read_scenario_document(
        imported->document, arguments.words.front(), std::filesystem::current_path());
    return scenario ? write_imported(arguments, imported->yaml) : report_errors(scenario.error());
}

}  // namespace orrery
