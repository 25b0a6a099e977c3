// SPDX-License-Identifier: Apache-2.0
#include "runtime/supervisor/member.h"
#include "scenarios/program/common_options.h"
#include "scenarios/program/train.h"
#include "scenarios/program/unread_keys.h"

namespace orrery {
namespace {

// A member of a supervised run has no --supervise, and the changes of its supervisor.
KeyUses keys_of_run(const TrainArguments& arguments) {
    constexpr std::string_view kWith = "with --supervise";
    const auto supervised = [&arguments] { return arguments.supervise || Member::is_one(); };
    return joined_uses(
        {keys_of_training(), {{"recovery", kWith, supervised}, {"campaign", kWith, supervised}}});
}

}  // namespace

std::vector<CommandOption> train_options(TrainArguments& arguments) {
    const CommandOption profile{"--export-profile",
                                &arguments.written_profile,
                                "Write the measured kernel times of rank 0 (CSV)",
                                "FILE"};
    return {{"file", &arguments.file, "Scenario file (YAML) with job.dataset", "FILE", true},
            override_option(arguments.overrides, keys_of_run(arguments)),
            processes_option(arguments.num_processes,
                             "Start N processes here, one a device of the cluster"),
            {"--profile", &arguments.profile_file, "Measured times (CSV) to predict with", "FILE"},
            device_option(arguments.device,
                          "auto (a GPU for a cluster of GPUs, if one answers), cpu or cuda"),
            profile,
            old_option("--write-profile", "--export-profile", profile),
            {"--record",
             &arguments.record_folder,
             "Write down when every rank ran every op, for orrery compare and calibrate",
             "FOLDER"},
            {"--trace",
             &arguments.trace_file,
             "Write a Perfetto trace of a measured step, with the predicted one above it",
             "FILE"},
            {"-q,--quiet", &arguments.quiet, "Print nothing but errors"},
            {"--resume",
             &arguments.resume,
             "Go on after the latest checkpoint in job.checkpoint_folder"},
            {"--overwrite",
             &arguments.overwrite,
             "Delete the checkpoints, log and curves of an earlier run, and begin anew"},
            {"--supervise",
             &arguments.supervise,
             "Start a process for each node, watch them, and recover by the scenario's policies"},
            {"--hosts",
             &arguments.hosts,
             "Machines of the supervised nodes, each with its number of nodes: one:2,two:2",
             "HOSTS"},
            {"--launch",
             &arguments.launch,
             "Command that runs a shell command on a machine [ssh -o BatchMode=yes {host}]",
             "WORDS"},
            {"--events",
             &arguments.event_file,
             "Write what a supervisor saw and ordered (a JSON object a line)",
             "FILE"}};
}

}  // namespace orrery
