// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <vector>

#include "engine/program/program_text.h"
#include "models/lowering/lowering.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/explain.h"
#include "scenarios/program/show_output.h"
#include "scenarios/report/layouts_report.h"
#include "scenarios/studies/explain/layouts.h"

namespace orrery {
namespace {

int show_layouts(const ExplainArguments& arguments,
                 const Scenario& scenario,
                 const Program& program) {
    std::vector<StageLayouts> stages;
    for (std::size_t role = 0; role < program.roles.size(); ++role) {
        if (arguments.stage < 0 || arguments.stage == static_cast<std::int64_t>(role)) {
            stages.push_back(layouts_of(program, to_id<RoleId>(role)));
        }
    }
    return show_output(arguments,
                       {.report = layouts_sections(stages),
                        .json = layouts_json(stages),
                        .provenance = provenance_of("explain", scenario),
                        .text = layouts_report(stages)});
}

}  // namespace

int explain_program(const ExplainArguments& arguments) {
    if (arguments.program && arguments.layouts) {
        return report_error(
            {"--layouts", "the program's text has the layouts too", "leave one out"});
    }
    if (arguments.program && (arguments.json || !arguments.format.empty())) {
        return report_error({"--format", "a program is printed as text only", "leave one out"});
    }
    const auto scenario = read_scenario(arguments.file, {.overrides = arguments.overrides});
    if (!scenario) {
        return report_errors(scenario.error());
    }
    const std::int64_t stages = scenario->plan.pipeline_model_parallel_size;
    if (arguments.stage >= stages) {
        return report_error({"--stage",
                             fmt::format("there is no stage {}", arguments.stage),
                             fmt::format("the plan has stages 0 to {}", stages - 1)});
    }
    const Program program = lower(scenario->model, scenario->plan);
    if (arguments.layouts) {
        return show_layouts(arguments, *scenario, program);
    }
    return print_output(
        arguments.stage < 0
            ? to_text(program)
            : to_text(program, to_id<RoleId>(static_cast<std::size_t>(arguments.stage))));
}

}  // namespace orrery
