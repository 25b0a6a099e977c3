// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/compare.h"

#include <memory>

#include "scenarios/program/common_options.h"
#include "scenarios/program/fault_note.h"
#include "scenarios/program/run_study.h"
#include "scenarios/report/study_sections.h"
#include "scenarios/studies/measure/run_comparison.h"

namespace orrery {

namespace {

ResultOrErrors<StudyOutput> compare_output(const CompareArguments& arguments) {
    const auto run = read_recorded_run(arguments.run);
    if (!run) {
        return unexpected<Errors>(run.error());
    }
    note_faults_left_out(run->scenario, FaultUser::recorded_run);
    const Result<RunComparison> comparison = compare_run(*run, arguments.profile_file);
    if (!comparison) {
        return unexpected<Errors>(Errors{comparison.error()});
    }
    StudyOutput output{.report = comparison_sections(*comparison),
                       .json = comparison_json(*comparison),
                       .provenance = provenance_of("compare", run->scenario)};
    output.provenance.recorded_by = run->description.build;
    output.provenance.add_input(arguments.profile_file);
    return output;
}

}  // namespace

int compare_command(const CompareArguments& arguments) {
    return run_study(arguments, arguments.run, "comparing", [&](const auto&) {
        return compare_output(arguments);
    });
}

Command describe_compare() {
    const auto arguments = std::make_shared<CompareArguments>();
    return {
        .name = "compare",
        .group = CommandGroup::measure,
        .help = "Show a recorded run beside its prediction: step, kernels, communication, memory",
        .options = joined(
            {{{"run", &arguments->run, "Folder of orrery train --record", "RUN", true},
              {"--profile",
               &arguments->profile_file,
               "Measured times (CSV) to predict with, of orrery profile or calibrate",
               "FILE"}},
             view_options(*arguments, {.html = kPageHelp, .csv = "Write the parts as a table"})}),
        .examples = {"compare build/run", "compare build/run --profile build/machine.csv --json"},
        .run = [arguments] { return compare_command(*arguments); },
    };
}

}  // namespace orrery
