// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/common_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "scenarios/program/exit_status.h"
#include "scenarios/report/terminal.h"

namespace orrery {
namespace {

constexpr std::pair<std::string_view, OutputFormat> kFormats[] = {{"table", OutputFormat::table},
                                                                  {"json", OutputFormat::json},
                                                                  {"csv", OutputFormat::csv},
                                                                  {"md", OutputFormat::md}};

std::vector<CommandOption> general_options() {
    Terminal& settings = terminal();
    std::vector<CommandOption> options{
        {"-q,--quiet", &settings.quiet, "Say nothing on standard error but errors"},
        {"-v,--verbose", &settings.verbose, "Say what is read and written, and the time it takes"},
        {"--color", &settings.colour, "Colour errors: auto, always or never", "WHEN"},
        {"--no-progress", &settings.no_progress, "Show no progress bar"}};
    for (CommandOption& option : options) {
        option.general = true;
    }
    return options;
}

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
        return fail("--json", "is short for --format json, and --format says another one", {});
    }
    return found->second;
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

std::vector<CommandOption> joined(std::initializer_list<std::vector<CommandOption>> lists) {
    std::vector<CommandOption> all;
    for (const std::vector<CommandOption>& list : lists) {
        all.insert(all.end(), list.begin(), list.end());
    }
    return all;
}

CommandOption scenario_option(std::string& file, const std::string& remark) {
    const std::string help = "Scenario file (YAML); '-' is standard input";
    return {"file", &file, remark.empty() ? help : help + "; " + remark, "FILE", true};
}

CommandOption override_option(std::vector<std::string>& overrides) {
    return {"--set",
            &overrides,
            "Change one key, e.g. --set plan.micro_batch_size=2; can be repeated; a path in it is "
            "relative to the scenario's folder, as in the scenario",
            "KEY=VALUE"};
}

CommandOption jobs_option(std::uint32_t& jobs) {
    return {.names = "-j,--jobs",
            .target = &jobs,
            .help =
                "Simulations at a time; 0 (if not given): as many as cores. The answer is "
                "the same",
            .type_name = "N",
            .least = 0,
            .most = 1024};
}

CommandOption calibration_option(std::string& file) {
    return {"--calibration",
            &file,
            "Facts fitted on measured steps (kind: calibration), as orrery validate "
            "--calibrate-with writes them",
            "FILE"};
}

CommandOption output_option(std::string& file, const std::string& product, bool required) {
    return {"-o,--output", &file, product + "; '-' is standard output", "FILE", required};
}

CommandOption device_option(std::string& device, const std::string& help) {
    return {"--device", &device, help, "DEVICE"};
}

CommandOption processes_option(std::uint32_t& processes, const std::string& help) {
    return {.names = "--nproc",
            .target = &processes,
            .help = help,
            .type_name = "N",
            .least = 1,
            .most = 64};
}

CommandOption old_option(const std::string& name, const std::string& now, CommandOption option) {
    option.names = name;
    option.now = now;
    option.help = "Old spelling of " + now;
    option.required = false;
    return option;
}

void add_format_option(Command& command) {
    const auto has = [&](const char* name) {
        return std::ranges::find(command.options, name, &CommandOption::names);
    };
    const auto json = has("--json");
    if (json == command.options.end() || has("--format") != command.options.end()) {
        return;
    }
    const auto format = std::make_shared<std::string>();
    bool* const wanted = std::get<bool*>(json->target);
    command.options.insert(
        json, {"--format", format.get(), "Print a table (if not given) or json", "FORM"});
    command.run = [format, wanted, run = std::move(command.run), name = command.name] {
        if (*format == "json") {
            *wanted = true;
        } else if (!format->empty() && (*format != "table" || *wanted)) {
            return report_error({"--format",
                                 fmt::format("orrery {} does not print '{}'", name, *format),
                                 "table or json"});
        }
        return run();
    };
}

void add_general_options(Command& command) {
    for (CommandOption& option : general_options()) {
        const std::vector<std::string> own = flags_of(option);
        const bool taken = std::ranges::any_of(command.options, [&](const CommandOption& other) {
            const std::vector<std::string> flags = flags_of(other);
            return std::ranges::find_first_of(flags, own) != flags.end();
        });
        if (!taken) {
            command.options.push_back(std::move(option));
        }
    }
}

void note_old_spelling(const CommandOption& option) {
    print_note(fmt::format(
        "{} is now {}; the old spelling will go with the next release", option.names, option.now));
}

}  // namespace orrery
