// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/program/command.h"
#include "scenarios/program/command_line_error.h"
#include "scenarios/program/common_options.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/help.h"
#include "scenarios/program/spelling.h"
#include "scenarios/program/version_text.h"
#include "scenarios/report/render/terminal.h"

namespace orrery {
namespace {

CLI::Option* add_option(CLI::App& app, const CommandOption& option) {
    CLI::Option* added = std::visit(
        [&](auto* target) {
            if constexpr (std::is_same_v<decltype(target), bool*>) {
                return app.add_flag(option.names, *target, option.help);
            } else {
                return app.add_option(option.names, *target, option.help);
            }
        },
        option.target);
    const bool repeated = std::holds_alternative<std::vector<std::string>*>(option.target);
    if (repeated && option.names.starts_with('-')) {
        added->allow_extra_args(false);
    }
    if (!option.type_name.empty()) {
        added->type_name(option.type_name);
    }
    if (option.most > option.least) {
        added->check(CLI::Range(option.least, option.most));
    }
    if (option.type_name == "FILE" || option.type_name == "FOLDER") {
        added->check([&option](const std::string& name) { return why_no_name(option, name); });
    }
    return added->required(option.required);
}

// The given options in the spelling of an earlier release.
using OldOptions = std::vector<std::pair<const CLI::Option*, const CommandOption*>>;

void add_command(CLI::App& app, const Command& command, OldOptions& old) {
    CLI::App* added = app.add_subcommand(command.name, command.help);
    added->formatter_fn([&command](const CLI::App*, const std::string&, CLI::AppFormatMode) {
        return command_help(command);
    });
    for (const CommandOption& option : command.options) {
        const CLI::Option* parsed = add_option(*added, option);
        if (!option.now.empty()) {
            old.emplace_back(parsed, &option);
        }
    }
}

}  // namespace

int run_command_line(int argc, char** argv) {
    CLI::App app{"", "orrery"};
    const std::vector<Command> commands = all_commands();
    app.formatter_fn([&commands](const CLI::App*, const std::string&, CLI::AppFormatMode) {
        return program_help(commands);
    });
    app.set_version_flag("--version", version_text());
    app.require_subcommand(1);
    OldOptions old;
    for (const Command& command : commands) {
        add_command(app, command, old);
    }
    const std::vector<std::string> words = words_of_line(argc, argv);
    if (words.empty()) {
        std::fputs(program_help(commands).c_str(), stderr);
        return kExitUserError;
    }
    try {
        app.parse(std::vector<std::string>{words.rbegin(), words.rend()});
    } catch (const CLI::ParseError& error) {
        const bool is_option = words[0].starts_with('-');
        const bool known = is_option || std::ranges::count(commands, words[0], &Command::name) > 0;
        if (error.get_exit_code() == 0 && known) {
            std::ostringstream text;
            app.exit(error, text, text);  // --help and --version
            return print_output(text.str());
        }
        const bool lacks = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
        const auto given = [&](const std::string& name) {
            return !lacks || app.get_subcommand(words[0])->get_option(name)->count() > 0;
        };
        return report_error(command_line_error(commands, words, error.what(), given));
    }
    const std::string& colour = terminal().colour;
    if (colour != "auto" && colour != "always" && colour != "never") {
        return report_error({"--color", "can't be '" + colour + "'", "auto, always or never"});
    }
    for (const auto& [parsed, option] : old) {
        if (parsed->count() > 0) {
            note_old_spelling(*option);
        }
    }
    for (const Command& command : commands) {
        if (app.got_subcommand(command.name)) {
            return command.run();
        }
    }
    return kExitUserError;
}

}  // namespace orrery
