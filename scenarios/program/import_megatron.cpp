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

// Reads a script, a pasted command line, or the words of one.
ResultOrErrors<LaunchCommand> launch_of(const ImportArguments& arguments) {
    std::error_code ignored;
    if (arguments.words.size() == 1) {
        const std::string& only = arguments.words.front();
        if (only != "-" && !std::filesystem::is_regular_file(only, ignored)) {
            return launch_command(only, "command line");
        }
        const auto text = read_text_file(only);
        return text ? launch_command(*text, only)
                    : ResultOrErrors<LaunchCommand>{unexpected<Errors>({text.error()})};
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
