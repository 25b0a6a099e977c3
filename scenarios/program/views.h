// SPDX-License-Identifier: Apache-2.0
// The forms of an answer, which are the same for every command. --format and --json choose the form
// on standard output; --html, --csv and --trace name files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/program/command.h"

namespace orrery {

// The outputs of a command: a report on standard output, and files with its product and other
// views. Arguments of commands derive from it. "-" is standard output.
struct ViewArguments {
    bool json = false;   // same as format "json"
    std::string format;  // "table", "json", "csv", "md"; empty: table
    std::string output;  // the product's file; empty: none
    std::string html_file;
    std::string csv_file;
    std::string trace_file;
};

// The files that a command can write, with the help of each; an empty one is not offered.
struct OfferedViews {
    std::string html{};
    std::string csv{};
    std::string trace{};
};
inline constexpr const char* kPageHelp = "Write a page with pictures";

enum class OutputFormat : std::uint8_t { table, json, csv, md };

// An error for an unknown form, and for --json with another form.
Result<OutputFormat> output_format(const ViewArguments& arguments);

// The options whose file is standard output ("-").
std::vector<std::string> options_to_standard_output(const ViewArguments& views);
// An error if two outputs would go to standard output. The output of --json or --format counts as
// one.
Result<void> check_standard_output(const ViewArguments& views);

std::vector<CommandOption> view_options(ViewArguments& arguments, const OfferedViews& offered);

// Makes the command check the form before its work.
void check_form_first(Command& command);

}  // namespace orrery
