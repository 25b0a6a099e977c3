// SPDX-License-Identifier: Apache-2.0
// Options that several commands share. Each is described once, so that a word has the same meaning
// in all commands.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "scenarios/program/command.h"
#include "scenarios/program/views.h"

namespace orrery {

// The concatenated lists: a command's own options and shared ones.
std::vector<CommandOption> joined(std::initializer_list<std::vector<CommandOption>> lists);

// A positional scenario file; "-" is standard input.
CommandOption scenario_option(std::string& file, const std::string& remark = {});
// --set of every command that reads a scenario, and the keys that the command reads
// (unread_keys.h).
CommandOption override_option(std::vector<std::string>& overrides, KeyUses reads);
// --jobs, for commands that simulate many cases in one process.
CommandOption jobs_option(std::uint32_t& jobs);
// --calibration of commands that predict steps.
CommandOption calibration_option(std::string& file);
// A whole number from `least` to `most`.
template <class Number>
CommandOption number_option(const char* names,
                            Number& target,
                            const char* help,
                            const char* type_name,
                            std::int64_t least,
                            std::int64_t most) {
    return {names, &target, help, type_name, false, least, most};
}
// --output, for the product of a command; "-" is standard output.
CommandOption output_option(std::string& file, const std::string& product, bool required = false);
// --device of commands that use this machine: auto, cpu or cuda.
CommandOption device_option(std::string& device, const std::string& help);
// --nproc of commands that start processes.
CommandOption processes_option(std::uint32_t& processes, const std::string& help);
// An old spelling of `now`. It works for one more release and prints a note when it is used.
CommandOption old_option(const std::string& name, const std::string& now, CommandOption option);

// --quiet, --verbose, --color and --no-progress, unless the command has its own.
void add_general_options(Command& command);

// Prints a line on standard error if the option was given in its old spelling.
void note_old_spelling(const CommandOption& option);

}  // namespace orrery
