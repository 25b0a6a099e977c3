// SPDX-License-Identifier: Apache-2.0
// The command line of `orrery`: the one owner of CLI11. Each command describes itself
// (scenarios/program/command.h); program/command.cpp lists them.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>

#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/format/provenance/fingerprint.h"
#include "scenarios/format/provenance/version.h"
#include "scenarios/program/command.h"
#include "scenarios/program/exit_status.h"

namespace orrery {
namespace {

std::string examples_of(const std::vector<Command>& commands) {
    std::string text =
        commands.size() == 1 && commands[0].examples.size() == 1 ? "Example:" : "Examples:";
    for (const Command& command : commands) {
        for (const std::string& example : command.examples) {
            text += "\n  orrery " + example;
            if (commands.size() > 1) {
                break;  // of every command the first
            }
        }
    }
    return text + "\n";
}

std::string version_text() {
    const BuildIdentity& build = build_identity();
    std::string text = "orrery " + build.version;
    const auto line = [&](const char* what, const std::string& value) {
        text += value.empty() ? "" : std::string{"\n"} + what + value;
    };
    line("commit    ", build.commit + (build.changed ? " with changes" : ""));
    line("sources   ", build.sources);
    line("catalogue ", catalogue_fingerprint(default_catalogue()));
    line("compiler  ", build.compiler);
    std::string features;
    for (const std::string& feature : build.features) {
        features += (features.empty() ? "" : ", ") + feature;
    }
    line("features  ", features);
    return text;
}

void add_option(CLI::App& app, const CommandOption& option) {
    CLI::Option* added = std::visit(
        [&](auto* target) {
            if constexpr (std::is_same_v<decltype(target), bool*>) {
                return app.add_flag(option.names, *target, option.help);
            } else {
                return app.add_option(option.names, *target, option.help);
            }
        },
        option.target);
    const bool repeated = std::holds_alternative<std::vector<std::string>*>(option.target);
    if (repeated && option.names.starts_with('-')) {
        added->allow_extra_args(false);
    }
    if (!option.type_name.empty()) {
        added->type_name(option.type_name);
    }
    if (option.most > option.least) {
        added->check(CLI::Range(option.least, option.most));
    }
    if (option.type_name == "FILE" || option.type_name == "FOLDER") {
        added->check([](const std::string& name) {
            return std::string{name.empty() ? "the name is empty" : ""};
        });
    }
    added->required(option.required);
}

int run(int argc, char** argv) {
    set_build_identity(identity_of_this_program());
    CLI::App app{"Orrery simulates GPU clusters that train transformers.", "orrery"};
    const std::vector<Command> commands = all_commands();
    app.footer(examples_of(commands));
    app.set_version_flag("--version", version_text());
    app.require_subcommand(1);
    for (const Command& command : commands) {
        CLI::App* added = app.add_subcommand(command.name, command.help);
        added->footer(examples_of({command}));
        for (const CommandOption& option : command.options) {
            add_option(*added, option);
        }
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) {
            return app.exit(error);  // --help and --version
        }
        return report_error(command_line_error(commands, {argv + 1, argv + argc}, error.what()));
    }
    for (const Command& command : commands) {
        if (app.got_subcommand(command.name)) {
            return command.run();
        }
    }
    return kExitUserError;
}

// Asks for no memory itself, not even on the way out.
[[noreturn]] void end_without_memory() {
    constexpr std::string_view kText =
        "error: out of memory (hint: a smaller scenario, or more memory)\n";
    [[maybe_unused]] const ssize_t told = write(STDERR_FILENO, kText.data(), kText.size());
    std::_Exit(kExitUserError);
}

std::atomic<bool> memory_lacked = false;
const std::terminate_handler usual_end = std::get_terminate();

[[noreturn]] void note_lack_of_memory() {
    memory_lacked = true;
    throw std::bad_alloc{};
}

// Where nothing may be thrown: in libstdc++'s walk through a folder, for one.
[[noreturn]] void terminate() {
    if (memory_lacked) {
        end_without_memory();
    }
    usual_end();
    std::abort();
}

}  // namespace
}  // namespace orrery

int main(int argc, char** argv) {
    std::set_new_handler(orrery::note_lack_of_memory);
    std::set_terminate(orrery::terminate);
    try {
        return orrery::run(argc, argv);
    } catch (const std::bad_alloc&) {
        orrery::end_without_memory();
    } catch (const std::exception& error) {
        return orrery::report_error({"", error.what(), "this is a defect of orrery"});
    }
}
