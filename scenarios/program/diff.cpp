// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/diff.h"

#include <memory>

#include "scenarios/format/document/json_document.h"
#include "scenarios/format/provenance/stored_result.h"
#include "scenarios/program/any_scenario.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/run_study.h"
#include "scenarios/report/diff_report.h"
#include "scenarios/studies/diff/shown_scenario.h"
#include "scenarios/studies/simulate/simulate_scenario.h"

namespace orrery {
namespace {

// A result of --json: a JSON object with its provenance. Nothing if the file is something else.
const DocumentNode* result_in(const ResultOrErrors<DocumentNode>& json) {
    const bool is_result = json && json->is_map() && json->find("provenance") != nullptr;
    return is_result ? &*json : nullptr;
}

DocumentNode effective_of(const DocumentNode& result) {
    const auto stored = stored_provenance(result);
    return stored ? stored->origin.effective : DocumentNode{};
}

StudyOutput output_of(const DiffArguments& arguments, const ScenarioDiff& diff) {
    Provenance provenance = provenance_of("diff");
    provenance.add_input(arguments.before).add_input(arguments.after);
    return {.report = diff_sections(diff),
            .json = diff_json(diff),
            .provenance = std::move(provenance)};
}

ResultOrErrors<StudyOutput> diff_results(const DiffArguments& arguments,
                                         const DocumentNode& before,
                                         const DocumentNode& after) {
    ScenarioDiff diff{.before = arguments.before, .after = arguments.after};
    diff.keys = differences(effective_of(before), effective_of(after));
    diff.figures = differences(before, after, keys_of_no_answer());
    return output_of(arguments, diff);
}

ResultOrErrors<StudyOutput> diff_scenarios(const DiffArguments& arguments,
                                           const std::function<void(double)>& progress) {
    const auto before = read_any_scenario(arguments.before, {});
    if (!before) {
        return unexpected<Errors>(before.error());
    }
    const auto after = read_any_scenario(arguments.after, arguments.overrides);
    if (!after) {
        return unexpected<Errors>(after.error());
    }
    ScenarioDiff diff{.before = arguments.before, .after = arguments.after};
    diff.keys = differences(shown_scenario(*before), shown_scenario(*after));
    if (!arguments.run) {
        return output_of(arguments, diff);
    }
    if (is_network_alone(*before) || is_network_alone(*after) || !before->jobs.empty() ||
        !after->jobs.empty()) {
        return unexpected<Errors>(Errors{
            {"--run", "compares the steps of two jobs", "scenarios with a model and a plan"}});
    }
    for (const Scenario* scenario : {&*before, &*after}) {
        Result<Answer> answer = simulate_scenario(*scenario, {});
        if (!answer) {
            return unexpected<Errors>(Errors{answer.error()});
        }
        diff.steps.push_back(std::move(*answer));
        progress(0.5 * static_cast<double>(diff.steps.size()));
    }
    return output_of(arguments, diff);
}

}  // namespace

int diff_command(const DiffArguments& arguments) {
    const auto before = read_json_file(arguments.before);
    const auto after = read_json_file(arguments.after);
    const DocumentNode* first = result_in(before);
    const DocumentNode* second = result_in(after);
    if ((first == nullptr) != (second == nullptr)) {
        return report_error({first == nullptr ? arguments.before : arguments.after,
                             "is no result, and the other file is one",
                             "two scenarios, or two results of --json"});
    }
    return run_study(
        arguments,
        {.source = arguments.after, .label = "comparing", .study = [&](const auto& progress) {
             return first == nullptr ? diff_scenarios(arguments, progress)
                                     : diff_results(arguments, *first, *second);
         }});
}

Command describe_diff() {
    const auto arguments = std::make_shared<DiffArguments>();
    return {
        .name = "diff",
        .help = "Say how two scenarios, or two results of --json, differ",
        .options = joined(
            {{{"before", &arguments->before, "Scenario (YAML), or result (JSON)", "FILE", true},
              {"after", &arguments->after, "The same, of what is compared with it", "FILE", true},
              {"--set",
               &arguments->overrides,
               "Change one key of the second scenario; can be repeated",
               "KEY=VALUE"},
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
