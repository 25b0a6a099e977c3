// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/replay.h"

#include <filesystem>
#include <memory>

#include "engine/base/input_file.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/program/common_options.h"
#include "scenarios/program/fault_note.h"
#include "scenarios/program/run_study.h"
#include "scenarios/program/unread_keys.h"
#include "scenarios/report/study_sections.h"
#include "scenarios/studies/replay/chakra_reader.h"
#include "scenarios/studies/replay/simai_workload.h"

namespace orrery {
namespace {

ResultOrErrors<ForeignStep> read_step(const std::string& trace) {
    std::error_code ignored;
    if (std::filesystem::is_directory(trace, ignored) || trace.ends_with(".et")) {
        return read_chakra(trace);
    }
    if (std::filesystem::is_character_file(trace, ignored)) {
        return unexpected<Errors>({{trace, "is a device, which may never end", "a file"}});
    }
    const auto text = read_input(trace, "a folder of Chakra traces, or a workload of SimAI");
    return text ? parse_simai(*text, trace) : unexpected<Errors>({text.error()});
}

ResultOrErrors<StudyOutput> replay_output(const ReplayArguments& arguments) {
    const auto scenario =
        read_scenario(arguments.cluster, {.overrides = arguments.overrides, .network_only = true});
    if (!scenario) {
        return unexpected<Errors>(scenario.error());
    }
    note_faults_left_out(*scenario, FaultUser::network);
    const auto step = read_step(arguments.trace);
    if (!step) {
        return unexpected<Errors>(step.error());
    }
    const auto answer = replay(*step, *scenario);
    if (!answer) {
        return unexpected<Errors>(answer.error());
    }
    const std::string name =
        std::filesystem::path{arguments.trace}.filename().string() + " on " + scenario->name;
    StudyOutput output{.report = replay_sections(name, *answer),
                       .json = replay_json(name, *answer),
                       .provenance = provenance_of("replay", *scenario)};
    output.provenance.add_input(arguments.trace);
    return output;
}

}  // namespace

int replay_command(const ReplayArguments& arguments) {
    return run_study(arguments, arguments.trace, "replaying", [&](const auto&) {
        return replay_output(arguments);
    });
}

Command describe_replay() {
    const auto arguments = std::make_shared<ReplayArguments>();
    return {
        .name = "replay",
        .group = CommandGroup::exchange,
        .help = "Run a step of another tool (Chakra traces, SimAI workload) on a cluster",
        .options = joined(
            {{{"trace",
               &arguments->trace,
               "A folder of Chakra traces (NAME.0.et …), or a workload of SimAI",
               "TRACE",
               true},
              {"cluster",
               &arguments->cluster,
               "Scenario file with a cluster; '-' is standard input",
               "FILE",
               true},
              override_option(arguments->overrides, keys_of_network())},
             view_options(*arguments,
                          {.html = kPageHelp, .csv = "Write the parts of the step as a table"})}),
        .examples = {"replay traces/ scenarios/network-clos-64.yaml",
                     "replay workload.txt scenarios/network-clos-64.yaml --set network=analytic"},
        .run = [arguments] { return replay_command(*arguments); },
    };
}

}  // namespace orrery
