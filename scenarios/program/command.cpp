// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/command.h"

#include <cstddef>

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
    static constexpr std::string_view kTitles[] = {"Scenarios",
                                                   "Predict",
                                                   "Train",
                                                   "Measure",
                                                   "Exchange with other tools",
                                                   "Judge the simulator",
                                                   "Help"};
    return kTitles[static_cast<std::size_t>(group)];
}

std::vector<Command> all_commands() {
    std::vector<Command> commands;
    for (const GroupedCommands& group : grouped_commands()) {
        for (const Describe describe : group.commands) {
            Command& command = commands.emplace_back(describe());
            command.group = group.group;
            add_general_options(command);
            check_form_first(command);
        }
    }
    return commands;
}

}  // namespace orrery
