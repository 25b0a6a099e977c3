// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/views.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <variant>

#include "scenarios/program/exit_status.h"

namespace orrery {
namespace {

constexpr std::pair<std::string_view, OutputFormat> kFormats[] = {{"table", OutputFormat::table},
                                                                  {"json", OutputFormat::json},
                                                                  {"csv", OutputFormat::csv},
                                                                  {"md", OutputFormat::md}};

}  // namespace

Result<OutputFormat> output_format(const ViewArguments& arguments) {
    if (arguments.format.empty()) {
        return arguments.json ? OutputFormat::json : OutputFormat::table;
    }
    const auto* const found =
        std::ranges::find(kFormats, arguments.format, [](const auto& one) { return one.first; });
    if (found == std::end(kFormats)) {
        return fail("--format",
                    fmt::format("there is no form '{}'", arguments.format),
                    "one of table, json, csv, md");
    }
    if (arguments.json && found->second != OutputFormat::json) {
        return fail(
            "--json", "is short for --format json, and --format says another one", "one of them");
    }
    return found->second;
}

std::vector<std::string> options_to_standard_output(const ViewArguments& views) {
    std::vector<std::string> options;
    for (const auto& [option, name] : {std::pair{"--output", &views.output},
                                       {"--html", &views.html_file},
                                       {"--csv", &views.csv_file},
                                       {"--trace", &views.trace_file}}) {
        if (*name == "-") {
            options.emplace_back(option);
        }
    }
    return options;
}

Result<void> check_standard_output(const ViewArguments& views) {
    std::vector<std::string> options = options_to_standard_output(views);
    if (!options.empty() && (views.json || !views.format.empty())) {
        options.insert(options.begin(), views.json ? "--json" : "--format");
    }
    return options.size() < 2 ? Result<void>{}
                              : fail(options[1] + " -",
                                     fmt::format("{} writes to standard output, too", options[0]),
                                     "name a file for one of them");
}

std::vector<CommandOption> view_options(ViewArguments& arguments, const OfferedViews& offered) {
    std::vector<CommandOption> options{
        {"--format", &arguments.format, "Print a table (if not given), json, csv or md", "FORM"},
        {"--json", &arguments.json, "Short for --format json: one object"}};
    const auto add = [&](const char* name, std::string& file, const std::string& help) {
        if (!help.empty()) {
            options.push_back({name, &file, help, "FILE"});
        }
    };
    add("--html", arguments.html_file, offered.html);
    add("--csv", arguments.csv_file, offered.csv);
    add("--trace", arguments.trace_file, offered.trace);
    return options;
}

void check_form_first(Command& command) {
    const std::string* form = nullptr;
    const bool* json = nullptr;
    for (const CommandOption& option : command.options) {
        if (option.names == "--format") {
            form = *std::get_if<std::string*>(&option.target);
        } else if (option.names == "--json") {
            json = *std::get_if<bool*>(&option.target);
        }
    }
    if (form == nullptr || json == nullptr) {
        return;
    }
    command.run = [form, json, run = std::move(command.run)] {
        ViewArguments views;
        views.format = *form;
        views.json = *json;
        const Result<OutputFormat> known = output_format(views);
        return known ? run() : report_error(known.error());
    };
}

}  // namespace orrery
