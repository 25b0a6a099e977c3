// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "scenarios/format/document/nearest.h"
#include "scenarios/program/calibrate.h"
#include "scenarios/program/campaign.h"
#include "scenarios/program/catalogue.h"
#include "scenarios/program/compare.h"
#include "scenarios/program/completion.h"
#include "scenarios/program/diagnose.h"
#include "scenarios/program/discover.h"
#include "scenarios/program/explain.h"
#include "scenarios/program/explain_error.h"
#include "scenarios/program/export.h"
#include "scenarios/program/fit.h"
#include "scenarios/program/generate.h"
#include "scenarios/program/gpu_bench.h"
#include "scenarios/program/import.h"
#include "scenarios/program/keys.h"
#include "scenarios/program/network.h"
#include "scenarios/program/profile.h"
#include "scenarios/program/replay.h"
#include "scenarios/program/search.h"
#include "scenarios/program/simulate.h"
#include "scenarios/program/sweep.h"
#include "scenarios/program/tokenize.h"
#include "scenarios/program/train.h"
#include "scenarios/program/validate.h"

namespace orrery {

std::vector<Command> all_commands() {
    return {
        describe_simulate(),      describe_network(),   describe_explain(),   describe_search(),
        describe_sweep(),         describe_merge(),     describe_campaign(),  describe_validate(),
        describe_explain_error(), describe_fit(),       describe_train(),     describe_tokenize(),
        describe_generate(),      describe_export(),    describe_gpu_bench(), describe_discover(),
        describe_profile(),       describe_calibrate(), describe_compare(),   describe_diagnose(),
        describe_import(),        describe_replay(),    describe_catalogue(), describe_keys(),
        describe_completion(),
    };
}

namespace {

// "-o,--output" as two names, "!--no-x" as --no-x; none of a word in its place.
void add_flags(const std::string& names, std::vector<std::string>& flags) {
    for (std::size_t begin = 0; begin < names.size();) {
        const std::size_t comma = std::min(names.find(',', begin), names.size());
        std::string name = names.substr(begin, comma - begin);
        name.erase(0, name.starts_with('!') ? 1 : 0);
        if (name.starts_with('-')) {
            flags.push_back(std::move(name));
        }
        begin = comma + 1;
    }
}

}  // namespace

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
            return {"command line", what, general};
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
        add_flags(option.names, flags);
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
            .help = "Simulations at a time (as many as cores if 0); the answer is the same",
            .type_name = "N",
            .least = 0,
            .most = 1024};
}

}  // namespace orrery
