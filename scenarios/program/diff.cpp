// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/diff.h"

#include <functional>
#include <memory>

#include "scenarios/format/document/json_document.h"
#include "scenarios/program/any_scenario.h"
#include "scenarios/program/common_options.h"
#include "scenarios/program/run_study.h"
#include "scenarios/program/unread_keys.h"
#include "scenarios/report/diff_report.h"
#include "scenarios/studies/diff/scenario_diff.h"

namespace orrery {
namespace {

ResultOrErrors<ScenarioDiff> diff_scenarios(const DiffArguments& arguments,
                                            const std::function<void(double)>& progress) {
    const auto before = read_any_scenario(arguments.before, {});
    if (!before) {
        return unexpected<Errors>(before.error());
    }
    const auto after = read_any_scenario(arguments.after, arguments.overrides);
    if (!after) {
        return unexpected<Errors>(after.error());
    }
    ScenarioDiff diff = diff_of_scenarios(*before, *after);
    if (arguments.run) {
        if (const auto added = add_steps(diff, *before, *after, progress); !added) {
            return unexpected<Errors>(Errors{added.error()});
        }
    }
    return diff;
}

ResultOrErrors<ScenarioDiff> diff_files(const DiffArguments& arguments,
                                        const std::function<void(double)>& progress) {
    const auto before = read_json_file(arguments.before);
    const auto after = read_json_file(arguments.after);
    const bool first = before && is_result(*before);
    const bool second = after && is_result(*after);
    if (first != second) {
        const std::string& file = first ? arguments.after : arguments.before;
        if (const auto& other = first ? after : before; !other && file.ends_with(".json")) {
            return unexpected<Errors>(other.error());
        }
        return unexpected<Errors>(Errors{{file,
                                          "is no result, and the other file is one",
                                          "two scenarios, or two results of --json"}});
    }
    return first ? diff_of_results(*before, *after) : diff_scenarios(arguments, progress);
}

}  // namespace

int diff_command(const DiffArguments& arguments) {
    return run_study(
        arguments,
        arguments.after,
        "comparing",
        [&](const std::function<void(double)>& progress) -> ResultOrErrors<StudyOutput> {
            auto diff = diff_files(arguments, progress);
            if (!diff) {
                return unexpected<Errors>(diff.error());
            }
            diff->before = arguments.before;
            diff->after = arguments.after;
            for (const std::string& set : arguments.overrides) {
                diff->after += " --set " + set;
            }
            StudyOutput output{.report = diff_sections(*diff),
                               .json = diff_json(*diff),
                               .provenance = provenance_of("diff")};
            output.provenance.add_input(arguments.before).add_input(arguments.after);
            return output;
        });
}

Command describe_diff() {
    const auto arguments = std::make_shared<DiffArguments>();
    return {
        .name = "diff",
        .group = CommandGroup::scenarios,
        .help = "Say how two scenarios, or two results of --json, differ",
        .options = joined(
            {{{"before", &arguments->before, "Scenario (YAML), or result (JSON)", "FILE", true},
              {"after", &arguments->after, "Scenario or result to compare it with", "FILE", true},
              {.names = "--set",
               .target = &arguments->overrides,
               .help = "Change one key of the second scenario; can be repeated",
               .type_name = "KEY=VALUE",
               .reads = every_key()},
              {"--run",
               &arguments->run,
               "Simulate both scenarios: time, memory, and where the time goes"}},
             view_options(*arguments,
                          {.html = kPageHelp, .csv = "Write the keys that differ as a table"})}),
        .examples = {"diff scenarios/megatron-175b-1024.yaml scenarios/megascale-175b-1024.yaml",
                     "diff scenarios/llama3-8b-h100.yaml scenarios/llama3-8b-h100.yaml --set "
                     "plan.precision=fp8 --run",
                     "diff before.json after.json"},
        .run = [arguments] { return diff_command(*arguments); },
    };
}

}  // namespace orrery
