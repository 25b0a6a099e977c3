// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/calibrate.h"

#include <fmt/format.h>

#include <memory>

#include "scenarios/format/document/output_file.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/fault_note.h"
#include "scenarios/report/provenance_report.h"
#include "scenarios/studies/measure/observed_costs.h"
#include "scenarios/studies/measure/recorded_run.h"

namespace orrery {

int calibrate_command(const CalibrateArguments& arguments) {
    const auto output = OutputFile::open(arguments.output);
    if (!output) {
        return report_error(output.error());
    }
    std::vector<MachineProfile> profiles;
    Provenance made_of = provenance_of("calibrate");
    std::string header = "Measured inside the steps of recorded runs (orrery calibrate)\n";
    for (const std::string& folder : arguments.runs) {
        const auto run = read_recorded_run(folder);
        if (!run) {
            return report_errors(run.error());
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
    (*output)->stream() << profile_csv(profile, header);
    if (const Result<void> written = (*output)->commit(); !written) {
        return report_error(written.error());
    }
    if (arguments.json) {
        const std::string json =
            fmt::format("{{\"kernels\": {}, \"transfers\": {}, \"host\": {}}}\n",
                        profile.kernels.size(),
                        profile.transfers.size(),
                        profile.hosts.size());
        return print_output(with_provenance(json, made_of));
    }
    return print_output(
        fmt::format("{}: {} kernels, {} transfers and {} times of the host, of {} run{}\n",
                    arguments.output,
                    profile.kernels.size(),
                    profile.transfers.size(),
                    profile.hosts.size(),
                    arguments.runs.size(),
                    arguments.runs.size() == 1 ? "" : "s"));
}

Command describe_calibrate() {
    const auto arguments = std::make_shared<CalibrateArguments>();
    return {
        .name = "calibrate",
        .help = "Make a profile of what recorded runs measured: kernels, communication, the host",
        .options = {{"runs", &arguments->runs, "Folders of orrery train --record", "RUN", true},
                    {"-o,--output", &arguments->output, "Profile to write (CSV)", "FILE", true},
                    {"--json", &arguments->json, "Print one JSON object instead of a line"}},
        .examples = {"calibrate build/run -o build/machine.csv"},
        .run = [arguments] { return calibrate_command(*arguments); },
    };
}

}  // namespace orrery
