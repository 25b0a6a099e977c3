// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/command.h"

#include <algorithm>
#include <cstddef>

#include "scenarios/program/common_options.h"
#include "scenarios/program/unread_keys.h"

namespace orrery {

// The build writes command_list.inc from the list of commands in CMakeLists.txt, with COMMAND(NAME)
// per command. NAME.cpp defines describe_NAME().
#define COMMAND(name) Command describe_##name();
#include "scenarios/program/command_list.inc"
#undef COMMAND

std::string_view title_of(CommandGroup group) {
    static constexpr std::string_view kTitles[] = {"Scenarios",
                                                   "Predict",
                                                   "Train",
                                                   "Measure",
                                                   "Exchange with other tools",
                                                   "Judge the simulator",
                                                   "Help"};
    return kTitles[static_cast<std::size_t>(group)];
}

std::vector<Command> all_commands() {
    std::vector<Command> commands{
#define COMMAND(name) describe_##name(),
#include "scenarios/program/command_list.inc"
#undef COMMAND
    };
    std::ranges::stable_sort(commands, {}, &Command::group);
    for (Command& command : commands) {
        add_general_options(command);
        check_form_first(command);
    }
    check_overrides_first(commands);
    return commands;
}

}  // namespace orrery
