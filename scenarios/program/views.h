// SPDX-License-Identifier: Apache-2.0
// The forms that an answer is shown in, the same for every command that prints one: --format and
// --json choose the form on standard output; --html, --csv and --trace name files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/program/command.h"

namespace orrery {

// What a command shows of its answer, and where: a report on standard output, and files with its
// product and other views. Arguments of commands derive from it. "-" is standard output.
struct ViewArguments {
    bool json = false;   // short for format "json"
    std::string format;  // "table", "json", "csv", "md"; empty: table
    std::string output;  // the product's file; empty: none
    std::string html_file;
    std::string csv_file;
    std::string trace_file;
};

// Which files a command writes of its answer, with the help of each; an empty one is not offered.
struct OfferedViews {
    std::string html{};
    std::string csv{};
    std::string trace{};
};
inline constexpr const char* kPageHelp = "Write a page with pictures";

enum class OutputFormat : std::uint8_t { table, json, csv, md };

// Complains about an unknown form, and about --json with another one.
Result<OutputFormat> output_format(const ViewArguments& arguments);

// The options that name standard output ("-") as their file.
std::vector<std::string> options_to_standard_output(const ViewArguments& views);
// Complains about two things that would go there; one that is asked for by --json or --format
// counts.
Result<void> check_standard_output(const ViewArguments& views);

std::vector<CommandOption> view_options(ViewArguments& arguments, const OfferedViews& offered);

// Has the command complain about an unknown form before it does anything.
void check_form_first(Command& command);

}  // namespace orrery
