// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/network.h"

#include <memory>
#include <string>
#include <utility>

#include "scenarios/format/read/reader.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/fault_note.h"
#include "scenarios/program/run_study.h"
#include "scenarios/report/render/json_report.h"
#include "scenarios/report/study_sections.h"
#include "scenarios/report/trace/perfetto_trace.h"
#include "scenarios/studies/network/measured_transfers.h"
#include "scenarios/studies/network/network_study.h"
#include "scenarios/studies/network/size_list.h"

namespace orrery {
namespace {

Provenance made_of(const NetworkArguments& arguments, const Scenario& scenario) {
    Provenance provenance = provenance_of("network", scenario);
    const auto option = [&](const char* name, const std::string& value) {
        if (!value.empty()) {
            provenance.add_option(name, value);
        }
    };
    option("pattern", arguments.pattern);
    option("size", arguments.sizes);
    option("fidelity", arguments.fidelity);
    option("ranks", arguments.ranks == 0 ? "" : std::to_string(arguments.ranks));
    return provenance;
}

ResultOrErrors<StudyOutput> network_output(const NetworkArguments& arguments,
                                           const Scenario& scenario,
                                           const NetworkRequest& request) {
    const auto trace = std::make_shared<NetworkTrace>();
    const Result<NetworkAnswer> answer = study_network(scenario, request, *trace);
    if (!answer) {
        return unexpected<Errors>(Errors{answer.error()});
    }
    return StudyOutput{.report = network_sections(*answer),
                       .json = json_report(*answer),
                       .provenance = made_of(arguments, scenario),
                       .write_trace = [trace](const std::string& file) {
                           return write_network_trace(file, *trace);
                       }};
}

}  // namespace

int network_command(const NetworkArguments& arguments) {
    const auto sizes = parse_sizes(arguments.sizes.empty() ? "1MiB..1GiB" : arguments.sizes);
    if (!sizes) {
        return report_error(sizes.error());
    }
    ResultOrErrors<Scenario> scenario =
        read_scenario(arguments.file, {.overrides = arguments.overrides, .network_only = true});
    if (!scenario) {
        return report_errors(scenario.error());
    }
    if (!arguments.fidelity.empty()) {
        const auto fidelity = parse_fidelity(arguments.fidelity);
        if (!fidelity) {
            return report_error(fidelity.error());
        }
        scenario->network = *fidelity;
    }
    note_faults_left_out(*scenario, FaultUser::network);
    if (!arguments.store_file.empty()) {
        return export_congestion(arguments, *scenario);
    }
    if (const auto written = write_exports(arguments, *scenario); !written) {
        return report_error(written.error());
    }
    auto measured = measured_transfers(arguments.profile_file, scenario->device.name);
    if (!measured) {
        return report_errors(measured.error());
    }
    NetworkRequest request{.pattern = arguments.pattern,
                           .sizes = *sizes,
                           .ranks = arguments.ranks,
                           .trace = !arguments.trace_file.empty(),
                           .measured = std::move(*measured)};
    return run_study(arguments, arguments.file, "simulating", [&](const auto& progress) {
        request.progress = progress;
        return network_output(arguments, *scenario, request);
    });
}

Command describe_network() {
    const auto arguments = std::make_shared<NetworkArguments>();
    return {
        .name = "network",
        .group = CommandGroup::predict,
        .help = "Run a collective or a flow pattern alone on a scenario's network",
        .options = network_options(*arguments),
        .examples = {"network scenarios/network-clos-64.yaml --pattern all_reduce",
                     "network scenarios/network-clos-64.yaml --pattern permutation --size 16MiB"},
        .run = [arguments] { return network_command(*arguments); },
    };
}

}  // namespace orrery
