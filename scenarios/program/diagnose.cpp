// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/diagnose.h"

#include <filesystem>
#include <memory>
#include <utility>

#include "runtime/world.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/fault_note.h"
#include "scenarios/program/run_study.h"
#include "scenarios/report/checks_report.h"
#include "scenarios/studies/diagnose/heat_map.h"
#include "scenarios/studies/diagnose/modelled_checks.h"

namespace orrery {
namespace {

ResultOrErrors<StudyOutput> diagnose_run(const std::string& folder) {
    const auto run = read_recorded_run(folder);
    if (!run) {
        return unexpected<Errors>(run.error());
    }
    note_faults_left_out(run->scenario, FaultUser::recorded_run);
    const HeatMap map = heat_map_of(*run);
    StudyOutput output{.report = heat_map_sections(map),
                       .json = heat_map_json(map),
                       .provenance = provenance_of("diagnose", run->scenario),
                       .status = map.slow.empty() ? kExitOk : kExitFinding};
    output.provenance.recorded_by = run->description.build;
    return output;
}

ResultOrErrors<StudyOutput> diagnose_model(const Scenario& scenario) {
    const auto checks = modelled_checks(scenario);
    if (!checks) {
        return unexpected<Errors>(Errors{checks.error()});
    }
    StudyOutput output{.report = checks_sections(*checks),
                       .json = checks_json(*checks),
                       .provenance = provenance_of("diagnose", scenario),
                       .status = checks->suspects.empty() ? kExitOk : kExitFinding};
    // A step that never ends has no times, but the checks still have results.
    const Result<HeatMap> map = heat_map_of(scenario);
    if (!map) {
        output.report.lines.push_back("No heat map: " + map.error().what + ".");
        return output;
    }
    Report heat = heat_map_sections(*map);
    output.report.lines = std::move(heat.lines);
    output.report.cards.insert(output.report.cards.end(), heat.cards.begin(), heat.cards.end());
    for (ReportSection& section : heat.sections) {
        output.report.sections.push_back(std::move(section));
    }
    output.status = map->slow.empty() ? output.status : kExitFinding;
    return output;
}

}  // namespace

int diagnose_command(const DiagnoseArguments& arguments) {
    const Result<Place> place = find_place();
    if (!place) {
        return report_error(place.error());
    }
    if (place->num_ranks > 1) {
        return check_as_rank(arguments);
    }
    const auto show = [&](const auto& study) {
        return run_study(
            arguments, arguments.what, "checking", [&](const auto&) { return study(); });
    };
    std::error_code none;
    if (std::filesystem::is_directory(arguments.what, none)) {
        return show([&] { return diagnose_run(arguments.what); });
    }
    const auto scenario = read_scenario(arguments.what, {.overrides = arguments.overrides});
    if (!scenario) {
        return report_errors(scenario.error());
    }
    if (arguments.num_processes == 1) {
        return report_error({"--nproc", "one process has no other to talk to", "--nproc 4"});
    }
    const bool real = arguments.num_processes > 0;
    note_faults_left_out(*scenario, real ? FaultUser::real_run : FaultUser::step);
    return real ? start_node_checks(arguments) : show([&] { return diagnose_model(*scenario); });
}

Command describe_diagnose() {
    const auto arguments = std::make_shared<DiagnoseArguments>();
    return {
        .name = "diagnose",
        .group = CommandGroup::measure,
        .help = "Find slow and unreachable nodes: heat map of ranks, pre-flight checks",
        .options = diagnose_options(*arguments),
        .examples = {"diagnose build/run --html heat.html",
                     "diagnose scenarios/llama3-70b-h100.yaml --set "
                     "'faults=[{kind: slow_host, at: \"node:3\"}]'",
                     "diagnose scenarios/drill-cpu-4.yaml --nproc 4"},
        .run = [arguments] { return diagnose_command(*arguments); },
    };
}

}  // namespace orrery
