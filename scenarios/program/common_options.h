// SPDX-License-Identifier: Apache-2.0
// The options that commands share, each described once: the same word means the same everywhere.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "engine/result.h"
#include "scenarios/program/command.h"

namespace orrery {

// What a command shows of its answer, and where: a report on standard output, and files with other
// views of it. Arguments of commands derive from it.
struct ViewArguments {
    bool json = false;   // short for format "json"
    std::string format;  // "table", "json", "csv", "md"; empty: table
    std::string html_file;
    std::string csv_file;
    std::string trace_file;
};

// Which views a command has, with the help of each; an empty one is not offered. Every command
// with views has --json and --format.
struct OfferedViews {
    std::string html{};
    std::string csv{};
    std::string trace{};
};
inline constexpr const char* kPageHelp = "Write a page with pictures";

enum class OutputFormat : std::uint8_t { table, json, csv, md };

// Complains about an unknown form, and about --json with another one.
Result<OutputFormat> output_format(const ViewArguments& arguments);

std::vector<CommandOption> view_options(ViewArguments& arguments, const OfferedViews& offered);

// The lists one after the other: a command's own options and shared ones.
std::vector<CommandOption> joined(std::initializer_list<std::vector<CommandOption>> lists);

// A scenario file in its place; "-" is standard input.
CommandOption scenario_option(std::string& file, const std::string& remark = {});
// --set of every command that reads a scenario.
CommandOption override_option(std::vector<std::string>& overrides);
// --jobs of commands that simulate many things in one process.
CommandOption jobs_option(std::uint32_t& jobs);
// --calibration of commands that predict steps.
CommandOption calibration_option(std::string& file);
// --output of a command's product; "-" is standard output.
CommandOption output_option(std::string& file, const std::string& product, bool required = false);
// --device of commands that use this machine: auto, cpu or cuda.
CommandOption device_option(std::string& device, const std::string& help);
// --nproc of commands that start processes.
CommandOption processes_option(std::uint32_t& processes, const std::string& help);
// An old spelling of `now`, which goes on working for one release and says so when it is used.
CommandOption old_option(const std::string& name, const std::string& now, CommandOption option);

// --format beside the --json of a command that has no other forms than those two.
void add_format_option(Command& command);

// --quiet, --verbose, --color and --no-progress, where the command has none of its own.
void add_general_options(Command& command);

// A line on standard error for an option that was given in its old spelling.
void note_old_spelling(const CommandOption& option);

}  // namespace orrery
