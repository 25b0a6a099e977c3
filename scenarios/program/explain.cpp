// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/explain.h"

#include <functional>
#include <memory>
#include <utility>

#include "scenarios/program/calibration_file.h"
#include "scenarios/program/common_options.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/fault_note.h"
#include "scenarios/program/run_study.h"
#include "scenarios/program/unread_keys.h"
#include "scenarios/report/explain_report.h"
#include "scenarios/report/study_sections.h"
#include "scenarios/studies/explain/explain.h"

namespace orrery {
namespace {

ResultOrErrors<StudyOutput> explain_output(const ExplainArguments& arguments,
                                           const std::function<void(double)>& progress) {
    auto table = calibrated_step_table(arguments.calibration_file);
    if (!table) {
        return unexpected<Errors>(table.error());
    }
    auto explanation = explain_scenario(arguments.file,
                                        {.overrides = arguments.overrides,
                                         .keep = static_cast<std::size_t>(arguments.keep),
                                         .jobs = arguments.jobs,
                                         .progress = progress,
                                         .step_table = std::move(*table)});
    if (!explanation) {
        return unexpected<Errors>(explanation.error());
    }
    add_calibration(explanation->provenance, arguments.calibration_file);
    note_faults_left_out(explanation->answer.faults_left_out);
    return StudyOutput{.report = explain_sections(*explanation),
                       .json = explain_json(*explanation),
                       .provenance = explanation->provenance};
}

}  // namespace

int explain_command(const ExplainArguments& arguments) {
    if (arguments.program || arguments.layouts) {
        return explain_program(arguments);
    }
    if (arguments.stage >= 0) {
        return report_error(
            {"--stage", "only a program has stages", "give --program or --layouts too"});
    }
    return run_study(arguments, arguments.file, "trying changes", [&](const auto& progress) {
        return explain_output(arguments, progress);
    });
}

Command describe_explain() {
    const auto arguments = std::make_shared<ExplainArguments>();
    return {
        .name = "explain",
        .group = CommandGroup::predict,
        .help = "Say what limits a scenario, and which change would help most",
        .options = joined(
            {{scenario_option(arguments->file),
              override_option(arguments->overrides, keys_of_step()),
              {.names = "--keep",
               .target = &arguments->keep,
               .help = "Changes to print, of each kind",
               .type_name = "N",
               .least = 1,
               .most = 1000},
              jobs_option(arguments->jobs),
              calibration_option(arguments->calibration_file),
              {"--program",
               &arguments->program,
               "Print what the GPUs do in a step instead: every operation with its tensors, "
               "and the order of the schedule"},
              {"--layouts",
               &arguments->layouts,
               "Print how the tensors of a step lie on the GPUs instead, and the transfers "
               "that follow from it"},
              {.names = "--stage",
               .target = &arguments->stage,
               .help = "With --program or --layouts: of this pipeline stage only, the first is 0",
               .type_name = "N",
               .least = 0,
               .most = 65535}},
             view_options(*arguments, {.html = kPageHelp, .csv = "Write the changes as a table"})}),
        .examples = {"explain scenarios/llama3-70b-h100.yaml",
                     "explain scenarios/gpt3-175b-1024-a100.yaml --keep 10",
                     "explain scenarios/gpt2-124m-1gpu.yaml --program --stage 0",
                     "explain scenarios/llama3-70b-h100.yaml --layouts --stage 0"},
        .run = [arguments] { return explain_command(*arguments); },
    };
}

}  // namespace orrery
