// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/replay.h"

#include <filesystem>
#include <memory>

#include "engine/input_file.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/program/common_options.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/fault_note.h"
#include "scenarios/report/provenance_report.h"
#include "scenarios/report/replay_report.h"
#include "scenarios/studies/replay/chakra_reader.h"
#include "scenarios/studies/replay/simai_workload.h"

namespace orrery {
namespace {

ResultOrErrors<ForeignStep> read_step(const std::string& trace) {
    std::error_code ignored;
    if (std::filesystem::is_directory(trace, ignored) || trace.ends_with(".et")) {
        return read_chakra(trace);
    }
    const auto text = read_input(trace, "a folder of Chakra traces, or a workload of SimAI");
    return text ? parse_simai(*text, trace) : unexpected<Errors>({text.error()});
}

}  // namespace

int replay_command(const ReplayArguments& arguments) {
    ReadOptions read;
    read.overrides = arguments.overrides;
    read.network_only = true;
    const auto scenario = read_scenario(arguments.cluster, read);
    if (!scenario) {
        return report_errors(scenario.error());
    }
    note_faults_left_out(*scenario, FaultUser::network);
    const auto step = read_step(arguments.trace);
    if (!step) {
        return report_errors(step.error());
    }
    const auto answer = replay(*step, *scenario);
    if (!answer) {
        Errors errors = answer.error();
        for (Error& error : errors) {
            error.where = error.where.empty() ? arguments.trace : error.where;
        }
        return report_errors(errors);
    }
    const std::string name =
        std::filesystem::path{arguments.trace}.filename().string() + " on " + scenario->name;
    if (!arguments.json) {
        return print_output(replay_report(name, *answer));
    }
    Provenance provenance = provenance_of("replay", *scenario);
    provenance.add_input(arguments.trace);
    return print_output(with_provenance(replay_json(name, *answer), provenance));
}

Command describe_replay() {
    const auto arguments = std::make_shared<ReplayArguments>();
    return {
        .name = "replay",
        .help = "Run a step of another tool (Chakra traces, SimAI workload) on a cluster",
        .options = {{"trace",
                     &arguments->trace,
                     "A folder of Chakra traces (NAME.0.et …), or a workload of SimAI",
                     "TRACE",
                     true},
                    {"cluster", &arguments->cluster, "Scenario file with a cluster", "FILE", true},
                    override_option(arguments->overrides),
                    {"--json", &arguments->json, "Print one JSON object instead of a report"}},
        .examples = {"replay traces/ scenarios/network-clos-64.yaml",
                     "replay workload.txt scenarios/network-clos-64.yaml --set network=analytic"},
        .run = [arguments] { return replay_command(*arguments); },
    };
}

}  // namespace orrery
