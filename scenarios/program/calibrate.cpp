// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/calibrate.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "kernels/profile.h"
#include "scenarios/program/common_options.h"
#include "scenarios/program/fault_note.h"
#include "scenarios/program/run_study.h"
#include "scenarios/report/facts_report.h"
#include "scenarios/report/render/report_words.h"
#include "scenarios/studies/measure/observed_costs.h"
#include "scenarios/studies/measure/recorded_run.h"

namespace orrery {
namespace {

ResultOrErrors<StudyOutput> calibrate_output(const CalibrateArguments& arguments) {
    std::vector<MachineProfile> profiles;
    Provenance made_of = provenance_of("calibrate");
    std::string header = "Measured inside the steps of recorded runs (orrery calibrate)\n";
    for (const std::string& folder : arguments.runs) {
        const auto run = read_recorded_run(folder);
        if (!run) {
            return unexpected<Errors>(run.error());
        }
        const auto steps = best_steps(run->steps);
        profiles.push_back(
            observed_costs(run->program, steps, run->scenario.device.name, run->sharing_ranks()));
        made_of.scenarios.push_back(run->scenario.origin);
        note_faults_left_out(run->scenario, FaultUser::recorded_run);
        header += fmt::format("{}: {} ranks, {} steps, {}\n",
                              run->scenario.name,
                              run->description.ranks,
                              steps.size(),
                              run->description.machine);
    }
    const MachineProfile profile = merged(profiles);
    const std::string sentence =
        fmt::format("{}: {} kernels, {} transfers and {} times of the host, of {}",
                    arguments.output,
                    profile.kernels.size(),
                    profile.transfers.size(),
                    profile.hosts.size(),
                    counted(static_cast<std::int64_t>(arguments.runs.size()), "run"));
    const std::vector<Fact> facts{{"kernels", profile.kernels.size()},
                                  {"transfers", profile.transfers.size()},
                                  {"host", profile.hosts.size()}};
    return StudyOutput{.report = facts_report(sentence, facts),
                       .json = facts_json(facts),
                       .provenance = made_of,
                       .text = sentence + "\n",
                       .product = profile_csv(profile, header)};
}

}  // namespace

int calibrate_command(const CalibrateArguments& arguments) {
    return run_study(arguments, arguments.output, "calibrating", [&](const auto&) {
        return calibrate_output(arguments);
    });
}

Command describe_calibrate() {
    const auto arguments = std::make_shared<CalibrateArguments>();
    return {
        .name = "calibrate",
        .group = CommandGroup::measure,
        .help = "Make a profile of what recorded runs measured: kernels, communication, the host",
        .options =
            joined({{{"runs", &arguments->runs, "Folders of orrery train --record", "RUN", true},
                     output_option(arguments->output, "Profile to write (CSV)", true)},
                    view_options(*arguments, {})}),
        .examples = {"calibrate build/run -o build/machine.csv"},
        .run = [arguments] { return calibrate_command(*arguments); },
    };
}

}  // namespace orrery
