// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/profile.h"

#include <fmt/format.h>

#include <memory>

#include "scenarios/program/common_options.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/fault_note.h"
#include "scenarios/report/progress.h"
#include "scenarios/report/provenance_report.h"

namespace orrery {

int profile_command(const ProfileSpec& spec, bool json) {
    ProgressBar bar{"profiling"};
    const auto measured = profile_machine(spec, [&bar](double share) { bar.show(share); });
    bar.finish();
    if (!measured) {
        return report_errors(measured.error());
    }
    note_faults_left_out(measured->faults_left_out);
    const char* form = json ? "{{\"kernels\": {1}, \"transfers\": {2}, \"host\": {3}}}\n"
                            : "{0}: {1} kernels, {2} transfers and {3} times of the host\n";
    const std::string text = fmt::format(fmt::runtime(form),
                                         spec.output,
                                         measured->profile.kernels.size(),
                                         measured->profile.transfers.size(),
                                         measured->profile.hosts.size());
    return print_output(json ? with_provenance(text, measured->made_of) : text);
}

Command describe_profile() {
    const auto spec = std::make_shared<ProfileSpec>();
    const auto json = std::make_shared<bool>(false);
    const CommandOption processes = processes_option(
        spec->ranks_max, "Most processes side by side (as many as there are cores, or GPUs)");
    return {
        .name = "profile",
        .help = "Measure this machine's kernels and communication, in real training steps",
        .options = {device_option(spec->device, "cpu (if not given) or cuda"),
                    {"-o,--output", &spec->output, "Profile to write (CSV)", "FILE", true},
                    {"--for",
                     &spec->scenario,
                     "Measure the shapes of this scenario only, in as many processes as it has "
                     "devices",
                     "SCENARIO"},
                    override_option(spec->overrides),
                    processes,
                    old_option("--ranks", "--nproc", processes),
                    {"--json", json.get(), "Print one JSON object instead of a line"}},
        .examples = {"profile --device cpu -o build/machine.csv",
                     "profile --for scenarios/train-tiny-cpu.yaml -o build/tiny.csv",
                     "profile --device cuda -o build/gpu.csv"},
        .run = [spec, json] { return profile_command(*spec, *json); },
    };
}

}  // namespace orrery
