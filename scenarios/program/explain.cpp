// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/explain.h"

#include <fmt/format.h>

#include <functional>
#include <memory>

#include "engine/program_text.h"
#include "models/lowering.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/program/calibration_file.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/fault_note.h"
#include "scenarios/program/run_study.h"
#include "scenarios/report/explain_report.h"
#include "scenarios/report/layouts_report.h"
#include "scenarios/report/study_sections.h"
#include "scenarios/studies/explain/explain.h"
#include "scenarios/studies/explain/layouts.h"

namespace orrery {
namespace {

std::string layouts_text(const ExplainArguments& arguments, const Program& program) {
    std::vector<StageLayouts> stages;
    for (std::size_t role = 0; role < program.roles.size(); ++role) {
        if (arguments.stage < 0 || arguments.stage == static_cast<std::int64_t>(role)) {
            stages.push_back(layouts_of(program, to_id<RoleId>(role)));
        }
    }
    return arguments.json ? layouts_json(stages) : layouts_report(stages);
}

int print_program(const ExplainArguments& arguments) {
    ReadOptions read;
    read.overrides = arguments.overrides;
    const auto scenario = read_scenario(arguments.file, read);
    if (!scenario) {
        return report_errors(scenario.error());
    }
    const std::int64_t stages = scenario->plan.pipeline_model_parallel_size;
    if (arguments.stage >= stages) {
        return report_errors({{"--stage",
                               fmt::format("there is no stage {}", arguments.stage),
                               fmt::format("the plan has stages 0 to {}", stages - 1)}});
    }
    const Program program = lower(scenario->model, scenario->plan);
    if (arguments.layouts) {
        return print_output(layouts_text(arguments, program));
    }
    return print_output(
        arguments.stage < 0
            ? to_text(program)
            : to_text(program, to_id<RoleId>(static_cast<std::size_t>(arguments.stage))));
}

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
                       .provenance = explanation->provenance,
                       .text = explain_report(*explanation)};
}

}  // namespace

int explain_command(const ExplainArguments& arguments) {
    const bool lowered = arguments.program || arguments.layouts;
    if (arguments.stage >= 0 && !lowered) {
        return report_errors(
            {{"--stage", "only a program has stages", "give --program or --layouts too"}});
    }
    if (arguments.program && arguments.layouts) {
        return report_errors(
            {{"--layouts", "the program's text has the layouts too", "leave one out"}});
    }
    if (arguments.program && (arguments.json || !arguments.format.empty())) {
        return report_errors({{"--json", "a program is printed as text only", "leave one out"}});
    }
    if (lowered) {
        return print_program(arguments);
    }
    return run_study(
        arguments,
        {.source = arguments.file, .label = "trying changes", .study = [&](const auto& progress) {
             return explain_output(arguments, progress);
         }});
}

Command describe_explain() {
    const auto arguments = std::make_shared<ExplainArguments>();
    return {
        .name = "explain",
        .help = "Say what limits a scenario, and which change would help most",
        .options = joined(
            {{scenario_option(arguments->file),
              override_option(arguments->overrides),
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
