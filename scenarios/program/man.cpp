// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/man.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "scenarios/format/document/nearest.h"
#include "scenarios/format/document/output_file.h"
#include "scenarios/program/exit_status.h"

namespace orrery {
namespace {

int write_pages(const std::filesystem::path& folder, const std::vector<Command>& commands) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    Result<void> written = OutputFile::write(folder / "orrery.1", program_page(commands));
    for (std::size_t i = 0; i < commands.size() && written; ++i) {
        written = OutputFile::write(folder / ("orrery-" + commands[i].name + ".1"),
                                    command_page(commands[i]));
    }
    return written ? kExitOk : report_error(written.error());
}

}  // namespace

int man_command(const ManArguments& arguments) {
    const std::vector<Command> commands = all_commands();
    if (!arguments.folder.empty()) {
        return write_pages(arguments.folder, commands);
    }
    if (arguments.command.empty()) {
        return print_output(program_page(commands));
    }
    const auto command = std::ranges::find(commands, arguments.command, &Command::name);
    if (command != commands.end()) {
        return print_output(command_page(*command));
    }
    std::vector<std::string> names;
    for (const Command& known : commands) {
        names.push_back(known.name);
    }
    return report_error({"man",
                         fmt::format("there is no command '{}'", arguments.command),
                         nearest_hint(arguments.command, names)});
}

Command describe_man() {
    const auto arguments = std::make_shared<ManArguments>();
    return {
        .name = "man",
        .group = CommandGroup::help,
        .help = "Print a manual page, or write all of them",
        .options = {{"command", &arguments->command, "The program's own page if absent", "COMMAND"},
                    {"-o,--output", &arguments->folder, "Write all pages there", "FOLDER"}},
        .examples = {"man simulate | man -l -", "man -o build/man"},
        .run = [arguments] { return man_command(*arguments); },
    };
}

}  // namespace orrery
