// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/common_options.h"
#include "scenarios/program/sweep.h"
#include "scenarios/program/unread_keys.h"

namespace orrery {

std::vector<CommandOption> sweep_options(SweepArguments& arguments) {
    const CommandOption results{"-o,--output",
                                &arguments.results,
                                "Results (SQLite); STUDY.sqlite in this folder if not given",
                                "FILE"};
    return joined(
        {{{.names = "file",
           .target = &arguments.file,
           .help = "Study file (YAML); '-' is standard input",
           .type_name = "FILE",
           .required = true,
           .reads = keys_of_step()},
          results,
          {"-j,--jobs",
           &arguments.jobs,
           "Processes; 0 (if not given): one for each core. Under mpirun each rank is one",
           "N"},
          {"--shard",
           &arguments.shard,
           "Only the I-th of N shards; in a Slurm job array each task is one",
           "I/N"},
          old_option("-r,--results", "--output", results)},
         view_options(arguments, {.html = kPageHelp, .csv = "Write the points as a table"})});
}

}  // namespace orrery
