// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "scenarios/format/document/nearest.h"
#include "scenarios/program/calibrate.h"
#include "scenarios/program/campaign.h"
#include "scenarios/program/catalogue.h"
#include "scenarios/program/check.h"
#include "scenarios/program/common_options.h"
#include "scenarios/program/compare.h"
#include "scenarios/program/completion.h"
#include "scenarios/program/diagnose.h"
#include "scenarios/program/diff.h"
#include "scenarios/program/discover.h"
#include "scenarios/program/explain.h"
#include "scenarios/program/explain_error.h"
#include "scenarios/program/export.h"
#include "scenarios/program/fit.h"
#include "scenarios/program/generate.h"
#include "scenarios/program/gpu_bench.h"
#include "scenarios/program/import.h"
#include "scenarios/program/init.h"
#include "scenarios/program/keys.h"
#include "scenarios/program/man.h"
#include "scenarios/program/merge.h"
#include "scenarios/program/network.h"
#include "scenarios/program/profile.h"
#include "scenarios/program/replay.h"
#include "scenarios/program/reproduce.h"
#include "scenarios/program/search.h"
#include "scenarios/program/serve.h"
#include "scenarios/program/show.h"
#include "scenarios/program/simulate.h"
#include "scenarios/program/sweep.h"
#include "scenarios/program/tokenize.h"
#include "scenarios/program/train.h"
#include "scenarios/program/validate.h"

namespace orrery {

namespace {

using Describe = Command (*)();

struct GroupedCommands {
    CommandGroup group;
    std::vector<Describe> commands;
};

std::vector<GroupedCommands> grouped_commands() {
    return {
        {CommandGroup::scenarios,
         {describe_init,
          describe_check,
          describe_show,
          describe_diff,
          describe_keys,
          describe_catalogue}},
        {CommandGroup::predict,
         {describe_simulate,
          describe_explain,
          describe_search,
          describe_sweep,
          describe_merge,
          describe_campaign,
          describe_network,
          describe_serve}},
        {CommandGroup::train,
         {describe_train, describe_tokenize, describe_generate, describe_export}},
        {CommandGroup::measure,
         {describe_discover,
          describe_profile,
          describe_calibrate,
          describe_compare,
          describe_diagnose,
          describe_gpu_bench}},
        {CommandGroup::exchange, {describe_import, describe_replay}},
        {CommandGroup::judge,
         {describe_validate, describe_reproduce, describe_explain_error, describe_fit}},
        {CommandGroup::help, {describe_man, describe_completion}},
    };
}

}  // namespace

std::string_view title_of(CommandGroup group) {
    switch (group) {
        case CommandGroup::scenarios:
            return "Scenarios";
        case CommandGroup::predict:
            return "Predict";
        case CommandGroup::train:
            return "Train";
        case CommandGroup::measure:
            return "Measure";
        case CommandGroup::exchange:
            return "Exchange with other tools";
        case CommandGroup::judge:
            return "Judge the simulator";
        case CommandGroup::help:
            break;
    }
    return "Help";
}

std::vector<Command> all_commands() {
    std::vector<Command> commands;
    for (const GroupedCommands& group : grouped_commands()) {
        for (const Describe describe : group.commands) {
            Command& command = commands.emplace_back(describe());
            command.group = group.group;
            add_format_option(command);
            add_general_options(command);
        }
    }
    return commands;
}

std::vector<std::string> flags_of(const CommandOption& option) {
    std::vector<std::string> flags;
    for (std::size_t begin = 0; begin < option.names.size();) {
        const std::size_t comma = std::min(option.names.find(',', begin), option.names.size());
        std::string name = option.names.substr(begin, comma - begin);
        name.erase(0, name.starts_with('!') ? 1 : 0);
        if (name.starts_with('-')) {
            flags.push_back(std::move(name));
        }
        begin = comma + 1;
    }
    return flags;
}

Error command_line_error(const std::vector<Command>& commands,
                         const std::vector<std::string>& words,
                         const std::string& what) {
    const std::string general = "see orrery --help";
    if (words.empty()) {
        return {"command line", "which command?", general};
    }
    const auto command = std::ranges::find(commands, words[0], &Command::name);
    if (command == commands.end()) {
        if (words[0].starts_with('-')) {
            const std::vector<std::string> flags{"--help", "--version"};
            const bool known = std::ranges::count(flags, words[0]) > 0;
            return {"command line",
                    known ? what : fmt::format("unknown option '{}'", words[0]),
                    general};
        }
        std::vector<std::string> names;
        for (const Command& known : commands) {
            names.push_back(known.name);
        }
        const bool near = !nearest_names(words[0], names, 1).empty();
        return {"",
                fmt::format("unknown command '{}'", words[0]),
                near ? nearest_hint(words[0], names) : general};
    }
    const std::string own = fmt::format("see orrery {} --help", command->name);
    std::vector<std::string> flags{"--help"};
    for (const CommandOption& option : command->options) {
        std::ranges::copy(flags_of(option), std::back_inserter(flags));
    }
    for (std::size_t i = 1; i < words.size() && words[i] != "--"; ++i) {
        const std::string flag = words[i].substr(0, words[i].find('='));
        if (flag.starts_with("--") && std::ranges::find(flags, flag) == flags.end()) {
            const bool near = !nearest_names(flag, flags, 1).empty();
            const std::string hint = near ? nearest_hint(flag, flags) + " " + own : own;
            return {"command line", fmt::format("unknown option '{}'", flag), hint};
        }
    }
    return {"command line", what, own};
}

}  // namespace orrery
