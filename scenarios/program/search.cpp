// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/search.h"

#include <memory>

#include "scenarios/format/read/reader.h"
#include "scenarios/program/any_scenario.h"
#include "scenarios/program/common_options.h"
#include "scenarios/program/unread_keys.h"

namespace orrery {
namespace {

bool searches(const SearchArguments& arguments) {
    return arguments.place == 0 && arguments.fit.empty();
}

// Whether faults count. A file with errors is the reader's.
bool for_goodput(const SearchArguments& arguments) {
    if (!searches(arguments) || is_served_load(arguments.file)) {
        return false;
    }
    const auto scenario = read_scenario(arguments.file, {.overrides = arguments.overrides});
    return !scenario || scenario->search.objective == Objective::goodput;
}

KeyUses keys_of_search(const std::shared_ptr<const SearchArguments>& arguments) {
    constexpr std::string_view kGoodput = "with search.objective=goodput";
    const auto goodput = [arguments] { return for_goodput(*arguments); };
    return joined_uses(
        {keys_of_step(),
         keys_of_load(),
         {{"search", "without --fit and --place", [arguments] { return searches(*arguments); }},
          {"recovery", kGoodput, goodput},
          {"campaign", kGoodput, goodput}}});
}

}  // namespace

int search_command(const SearchArguments& arguments) {
    if (arguments.place > 0) {
        return search_place_command(arguments);
    }
    if (!arguments.fit.empty()) {
        return search_fit_command(arguments);
    }
    return is_served_load(arguments.file) ? search_pools_command(arguments)
                                          : search_plans_command(arguments);
}

Command describe_search() {
    const auto arguments = std::make_shared<SearchArguments>();
    return {
        .name = "search",
        .group = CommandGroup::predict,
        .help = "Find the best plan on one or several clusters, or the best pools of a served load",
        .options = joined(
            {{scenario_option(arguments->file),
              override_option(arguments->overrides, keys_of_search(arguments)),
              jobs_option(arguments->jobs),
              calibration_option(arguments->calibration_file),
              output_option(arguments->output,
                            "Write the best plan as a scenario that simulate and train accept"),
              {"--sensitivity",
               &arguments->sensitivity,
               "Say which figures of the catalogue the answer hinges on"},
              {"--fit",
               &arguments->fit,
               "Ask instead what the plan holds in memory: the longest sequence, the most layers, "
               "the most layers for each place of the state (tiers), or the fewest layers that run "
               "again (recompute)",
               "sequence|layers|tiers|recompute"},
              number_option("--place",
                            arguments->place,
                            "Find the order of the nodes with the shortest step of the plan "
                            "instead, by annealing over N orders",
                            "N",
                            1,
                            1'000'000),
              old_option("--write", "--output", output_option(arguments->output, ""))},
             view_options(*arguments,
                          {.html = kPageHelp, .csv = "Write the best plans as a table"})}),
        .examples = {"search scenarios/search-175b-1024-a100.yaml",
                     "search scenarios/llama3-70b-h100.yaml -o best.yaml",
                     "search scenarios/serving/llama3-70b-search.yaml",
                     "search scenarios/alst-llama3-8b-h100.yaml --fit sequence",
                     "search scenarios/pipette-gpt-a100.yaml --place 100",
                     "search scenarios/llama3-8b-h100.yaml --set "
                     "search.micro_batch_size=[1,2,4]"},
        .run = [arguments] { return search_command(*arguments); },
    };
}

}  // namespace orrery
