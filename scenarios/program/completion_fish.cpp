// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "scenarios/program/completion.h"

namespace orrery {

std::string fish_script(const std::vector<Command>& commands) {
    std::string text =
        "# orrery: completion for fish. In ~/.config/fish/config.fish: "
        "orrery completion fish | source\n";
    for (const Command& command : commands) {
        text += fmt::format("complete -c orrery -n __fish_use_subcommand -f -a {} -d {}\n",
                            command.name,
                            shell_quoted(command.help));
        for (const CompletedFlag& flag : completed_flags(command)) {
            const bool is_long = flag.name.starts_with("--");
            text += fmt::format(
                "complete -c orrery -n '__fish_seen_subcommand_from {}' {} {}{}{} -d {}\n",
                command.name,
                is_long ? "-l" : "-s",
                flag.name.substr(is_long ? 2 : 1),
                flag.has_value ? " -r" : "",
                flag.name == "--set" ? " -f -a " + shell_quoted(keys_to_set()) : "",
                shell_quoted(flag.help));
        }
        if (command.name == "catalogue") {
            text += "complete -c orrery -n '__fish_seen_subcommand_from catalogue' -f -a " +
                    shell_quoted(catalogue_names()) + "\n";
        }
    }
    return text;
}

}  // namespace orrery
