// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/profile.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "scenarios/program/common_options.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/fault_note.h"
#include "scenarios/program/run_study.h"
#include "scenarios/program/unread_keys.h"
#include "scenarios/report/facts_report.h"

namespace orrery {
namespace {

ResultOrErrors<StudyOutput> profile_output(const ProfileSpec& spec,
                                           const std::function<void(double)>& progress) {
    const auto measured = profile_machine(spec, progress);
    if (!measured) {
        return unexpected<Errors>(measured.error());
    }
    note_faults_left_out(measured->faults_left_out);
    const MachineProfile& profile = measured->profile;
    const std::string sentence =
        fmt::format("{}: {} kernels, {} transfers and {} times of the host{}",
                    spec.output,
                    profile.kernels.size(),
                    profile.transfers.size(),
                    profile.hosts.size(),
                    measured->interrupted ? "; interrupted: the other runs are missing" : "");
    const std::vector<Fact> facts{{"kernels", profile.kernels.size()},
                                  {"transfers", profile.transfers.size()},
                                  {"host", profile.hosts.size()}};
    return StudyOutput{.report = facts_report(sentence, facts),
                       .json = facts_json(facts),
                       .provenance = measured->made_of,
                       .text = sentence + "\n",
                       .status = measured->interrupted ? kExitInterrupted : kExitOk};
}

}  // namespace

int profile_command(const ProfileArguments& arguments) {
    ViewArguments views = arguments;
    views.output = arguments.spec.output == "-" ? "-" : "";  // the output is printed alone
    return run_study(views, arguments.spec.scenario, "profiling", [&](const auto& progress) {
        return profile_output(arguments.spec, progress);
    });
}

Command describe_profile() {
    const auto arguments = std::make_shared<ProfileArguments>();
    ProfileSpec* const spec = &arguments->spec;
    const CommandOption processes = processes_option(
        spec->ranks_max, "Most processes side by side (as many as there are cores, or GPUs)");
    return {
        .name = "profile",
        .group = CommandGroup::measure,
        .help = "Measure this machine's kernels and communication, in real training steps",
        .options =
            joined({{device_option(spec->device, "cpu (if not given) or cuda"),
                     output_option(spec->output, "Profile to write (CSV)", true),
                     {"--for",
                      &spec->scenario,
                      "Measure the shapes of this scenario only, in as many processes as it has "
                      "devices",
                      "SCENARIO"},
                     override_option(spec->overrides, keys_of_training()),
                     processes,
                     old_option("--ranks", "--nproc", processes)},
                    view_options(*arguments, {})}),
        .examples = {"profile --device cpu -o build/machine.csv",
                     "profile --for scenarios/train-tiny-cpu.yaml -o build/tiny.csv",
                     "profile --device cuda -o build/gpu.csv"},
        .run = [arguments] { return profile_command(*arguments); },
    };
}

}  // namespace orrery
