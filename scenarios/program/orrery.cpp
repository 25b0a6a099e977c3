// SPDX-License-Identifier: Apache-2.0
// The command line of `orrery`: the one owner of CLI11. Each command describes itself
// (scenarios/program/command.h); program/command.cpp lists them.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <new>
#include <sstream>
#include <string_view>
#include <utility>

#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/format/provenance/fingerprint.h"
#include "scenarios/format/provenance/version.h"
#include "scenarios/program/command.h"
#include "scenarios/program/common_options.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/help.h"
#include "scenarios/report/terminal.h"

namespace orrery {
namespace {

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

CLI::Option* add_option(CLI::App& app, const CommandOption& option) {
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
    return added->required(option.required);
}

// The options that are spelt as in an earlier release.
using OldOptions = std::vector<std::pair<const CLI::Option*, const CommandOption*>>;

void add_command(CLI::App& app, const Command& command, OldOptions& old) {
    CLI::App* added = app.add_subcommand(command.name, command.help);
    added->formatter_fn([&command](const CLI::App*, const std::string&, CLI::AppFormatMode) {
        return command_help(command);
    });
    for (const CommandOption& option : command.options) {
        const CLI::Option* parsed = add_option(*added, option);
        if (!option.now.empty()) {
            old.emplace_back(parsed, &option);
        }
    }
}

// `orrery help COMMAND` is `orrery COMMAND --help`.
std::vector<std::string> words_of_line(int argc, char** argv) {
    std::vector<std::string> words{argv + 1, argv + argc};
    if (!words.empty() && words.front() == "help") {
        words.erase(words.begin());
        words.emplace_back("--help");
    }
    return words;
}

int run(int argc, char** argv) {
    set_build_identity(identity_of_this_program());
    CLI::App app{"", "orrery"};
    const std::vector<Command> commands = all_commands();
    app.formatter_fn([&commands](const CLI::App*, const std::string&, CLI::AppFormatMode) {
        return program_help(commands);
    });
    app.set_version_flag("--version", version_text());
    app.require_subcommand(1);
    OldOptions old;
    for (const Command& command : commands) {
        add_command(app, command, old);
    }
    const std::vector<std::string> words = words_of_line(argc, argv);
    try {
        app.parse(std::vector<std::string>{words.rbegin(), words.rend()});
    } catch (const CLI::ParseError& error) {
        const bool is_option = words.empty() || words[0].starts_with('-');
        const bool known = is_option || std::ranges::count(commands, words[0], &Command::name) > 0;
        if (error.get_exit_code() == 0 && known) {
            std::ostringstream text;
            app.exit(error, text, text);  // --help and --version
            return print_output(text.str());
        }
        return report_error(command_line_error(commands, words, error.what()));
    }
    const std::string& colour = terminal().colour;
    if (colour != "auto" && colour != "always" && colour != "never") {
        return report_error({"--color", "can't be '" + colour + "'", "auto, always or never"});
    }
    for (const auto& [parsed, option] : old) {
        if (parsed->count() > 0) {
            note_old_spelling(*option);
        }
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
        return orrery::report_defect(error.what());
    }
}
