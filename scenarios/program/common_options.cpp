// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/common_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "scenarios/program/spelling.h"
#include "scenarios/report/render/terminal.h"

namespace orrery {
namespace {

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

CommandOption override_option(std::vector<std::string>& overrides, KeyUses reads) {
    return {.names = "--set",
            .target = &overrides,
            .help =
                "Change one key, e.g. --set plan.micro_batch_size=2; can be repeated; a path "
                "in it is relative to the scenario's folder, as in the scenario",
            .type_name = "KEY=VALUE",
            .reads = std::move(reads)};
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
