// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <functional>
#include <utility>

#include "scenarios/format/read/reader.h"
#include "scenarios/format/write/write_plan.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/interruption.h"
#include "scenarios/program/run_study.h"
#include "scenarios/program/search.h"
#include "scenarios/report/search_report.h"

namespace orrery {
namespace {

StudyOutput output_of_placed(const SearchArguments& arguments,
                             const Scenario& scenario,
                             const PlacedNodes& placed) {
    Provenance provenance = provenance_of("search", scenario);
    provenance.add_option("place", std::to_string(arguments.place));
    StudyOutput output{.report = placed_sections(scenario, placed),
                       .json = placed_json(scenario, placed),
                       .provenance = std::move(provenance)};
    if (!arguments.output.empty()) {
        output.product = scenario_with_plan(*scenario.document,
                                            scenario.plan,
                                            {{"node_order", order_text(placed.order)}},
                                            std::filesystem::path{arguments.file}.parent_path(),
                                            std::filesystem::path{arguments.output}.parent_path());
    }
    output.status = placed.interrupted ? kExitInterrupted : kExitOk;
    return output;
}

}  // namespace

int search_place_command(const SearchArguments& arguments) {
    if (arguments.sensitivity || !arguments.calibration_file.empty() || !arguments.fit.empty()) {
        return report_error({arguments.file,
                             "--place orders the nodes of one plan, and searches no plan",
                             "leave out --sensitivity, --calibration and --fit"});
    }
    if (arguments.jobs > 0) {
        return report_error({"--jobs",
                             "each order of --place follows from the one before it",
                             "leave it out: one thread works"});
    }
    const ResultOrErrors<Scenario> scenario =
        read_scenario(arguments.file, {.overrides = arguments.overrides});
    if (!scenario) {
        return report_errors(scenario.error());
    }
    if (scenario->network == NetworkFidelity::packet) {
        return report_error({arguments.file,
                             "network: packet is for one step, not for many orders of the nodes",
                             "fluid, with network.congestion: what packets measured"});
    }
    Interruption interruption;
    return run_study(
        arguments,
        arguments.file,
        "placing",
        [&](const std::function<void(double)>& progress) -> ResultOrErrors<StudyOutput> {
            PlaceOptions how{.tries = arguments.place, .progress = progress};
            how.stop = [&] { return interruption.come(); };
            const Result<PlacedNodes> placed = place_nodes(*scenario, how);
            if (!placed) {
                return unexpected<Errors>(Errors{placed.error()});
            }
            return output_of_placed(arguments, *scenario, *placed);
        });
}

}  // namespace orrery
