// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/diagnose.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "runtime/measure/node_checks.h"
#include "runtime/world.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/program/common_options.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/fault_note.h"
#include "scenarios/program/page_file.h"
#include "scenarios/report/heat_map_report.h"
#include "scenarios/report/node_checks_report.h"
#include "scenarios/report/provenance_report.h"
#include "scenarios/studies/diagnose/heat_map.h"
#include "scenarios/studies/diagnose/modelled_checks.h"

namespace orrery {
namespace {

// Prints a report, and says whether somebody is sick.
int tell(const std::string& text, bool sick) {
    const int printed = print_output(text);
    return printed == kExitOk && sick ? kExitFinding : printed;
}

int write_page(PageFile& page, const HeatMap& map, const Provenance& provenance) {
    if (page.wanted()) {
        if (const auto written = page.write(to_html(heat_map_sections(map)), provenance);
            !written) {
            return report_error(written.error());
        }
    }
    return kExitOk;
}

int diagnose_run(const DiagnoseArguments& arguments, PageFile& page) {
    const auto run = read_recorded_run(arguments.what);
    if (!run) {
        return report_errors(run.error());
    }
    note_faults_left_out(run->scenario, FaultUser::recorded_run);
    const HeatMap map = heat_map_of(*run);
    Provenance provenance = provenance_of("diagnose", run->scenario);
    provenance.recorded_by = run->description.build;
    if (const int written = write_page(page, map, provenance); written != kExitOk) {
        return written;
    }
    return tell(
        arguments.json ? with_provenance(heat_map_json(map), provenance) : heat_map_text(map),
        !map.slow.empty());
}

int diagnose_model(const DiagnoseArguments& arguments, const Scenario& scenario, PageFile& page) {
    const auto checks = modelled_checks(scenario);
    if (!checks) {
        return report_error(checks.error());
    }
    const bool sick = !checks->suspects.empty();
    const Provenance provenance = provenance_of("diagnose", scenario);
    const auto json = [&] { return with_provenance(checks_json(*checks), provenance); };
    if (arguments.json && !page.wanted()) {
        return tell(json(), sick);
    }
    const Result<HeatMap> map = heat_map_of(scenario);
    if (!map) {
        // A step that never ends has no times; the checks have something to say.
        return arguments.json
                   ? tell(json(), sick)
                   : tell(checks_text(*checks) + "\n  no heat map: " + map.error().what + "\n",
                          sick);
    }
    if (const int written = write_page(page, *map, provenance); written != kExitOk) {
        return written;
    }
    return arguments.json ? tell(json(), sick)
                          : tell(checks_text(*checks) + "\n" + heat_map_text(*map),
                                 sick || !map->slow.empty());
}

int check_as(World& world, const DiagnoseArguments& arguments) {
    if (world.transport == nullptr) {
        return report_error({"--nproc", "one process has no other to talk to", "--nproc 4"});
    }
    const auto checks = check_nodes(*world.transport);
    if (!checks) {
        return report_error(checks.error());
    }
    if (world.rank != 0) {
        return kExitOk;
    }
    const std::vector<Suspect> found = suspects(*checks);
    return tell(arguments.json
                    ? with_provenance(node_checks_json(*checks, found), provenance_of("diagnose"))
                    : node_checks_text(*checks, found),
                !found.empty());
}

int start_ranks(const DiagnoseArguments& arguments) {
    std::vector<std::string> again{"diagnose", arguments.what};
    if (arguments.json) {
        again.emplace_back("--json");
    }
    const Result<int> status = run_ranks(arguments.num_processes, again);
    return status ? *status : report_error(status.error());
}

}  // namespace

int diagnose_command(const DiagnoseArguments& arguments) {
    const Result<Place> place = find_place();
    if (!place) {
        return report_error(place.error());
    }
    if (place->num_ranks > 1) {
        Result<World> world = join_world();
        return world ? check_as(*world, arguments) : report_error(world.error());
    }
    auto page = PageFile::open(arguments.html_file);
    if (!page) {
        return report_error(page.error());
    }
    std::error_code none;
    if (std::filesystem::is_directory(arguments.what, none)) {
        return diagnose_run(arguments, *page);
    }
    const auto scenario = read_scenario(arguments.what, {.overrides = arguments.overrides});
    if (!scenario) {
        return report_errors(scenario.error());
    }
    if (arguments.num_processes == 1) {
        return report_error({"--nproc", "one process has no other to talk to", "--nproc 4"});
    }
    note_faults_left_out(*scenario,
                         arguments.num_processes > 0 ? FaultUser::real_run : FaultUser::step);
    return arguments.num_processes > 0 ? start_ranks(arguments)
                                       : diagnose_model(arguments, *scenario, *page);
}

Command describe_diagnose() {
    const auto arguments = std::make_shared<DiagnoseArguments>();
    return {
        .name = "diagnose",
        .help = "Find slow and unreachable nodes: heat map of ranks, pre-flight checks",
        .options = {{"what",
                     &arguments->what,
                     "Scenario file (YAML), or the folder of a recorded run",
                     "WHAT",
                     true},
                    override_option(arguments->overrides),
                    processes_option(arguments->num_processes,
                                     "Check the connections between N processes here"),
                    {"--html", &arguments->html_file, "Write the heat map as a page", "FILE"},
                    {"--json", &arguments->json, "Print one JSON object instead of a report"}},
        .examples = {"diagnose build/run --html heat.html",
                     "diagnose scenarios/llama3-70b-h100.yaml --set "
                     "'faults=[{kind: slow_host, at: \"node:3\"}]'",
                     "diagnose scenarios/drill-cpu-4.yaml --nproc 4"},
        .run = [arguments] { return diagnose_command(*arguments); },
    };
}

}  // namespace orrery
