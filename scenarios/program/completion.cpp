// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/completion.h"

#include <fmt/format.h>

#include <memory>

#include "scenarios/program/exit_status.h"

namespace orrery {

Result<std::string> completion_script(const std::string& shell,
                                      const std::vector<Command>& commands) {
    if (shell == "bash") {
        return bash_script(commands);
    }
    if (shell == "zsh") {
        return zsh_script(commands);
    }
    if (shell == "fish") {
        return fish_script(commands);
    }
    return fail("completion",
                fmt::format("there is no completion for the shell '{}'", shell),
                "one of bash, zsh, fish");
}

int completion_command(const std::string& shell) {
    const auto script = completion_script(shell, all_commands());
    return script ? print_output(*script) : report_error(script.error());
}

Command describe_completion() {
    const auto shell = std::make_shared<std::string>();
    return {
        .name = "completion",
        .group = CommandGroup::help,
        .help = "Print a script that completes this program's command lines in a shell",
        .options = {{"shell", shell.get(), "bash, zsh or fish", "SHELL", true}},
        .examples = {"completion bash"},
        .run = [shell] { return completion_command(*shell); },
    };
}

}  // namespace orrery
