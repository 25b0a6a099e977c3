// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "scenarios/program/common_options.h"
#include "scenarios/program/network.h"
#include "scenarios/program/unread_keys.h"
#include "scenarios/studies/network/network_study.h"

namespace orrery {

std::vector<CommandOption> network_options(NetworkArguments& arguments) {
    std::string patterns;
    for (const std::string& pattern : network_patterns()) {
        patterns += (patterns.empty() ? "" : ", ") + pattern;
    }
    const CommandOption store{"--export-congestion",
                              &arguments.store_file,
                              "Measure the congestion control of network.packet on packets, and "
                              "write its factors for network.congestion",
                              "FILE"};
    const CommandOption topology{"--export-nccl-topology",
                                 &arguments.topology_file,
                                 "Write a server as XML for NCCL_TOPO_FILE",
                                 "FILE"};
    return joined(
        {{scenario_option(arguments.file, "a cluster is enough"),
          override_option(arguments.overrides, keys_of_network()),
          {"--pattern", &arguments.pattern, patterns, "NAME"},
          {"--size",
           &arguments.sizes,
           "Bytes of the vector, or of each flow: a list (64KiB,1MiB), or doublings (1MiB..1GiB)",
           "SIZES"},
          {"--fidelity",
           &arguments.fidelity,
           "analytic, fluid, packet or simgrid, in place of the scenario's",
           "NAME"},
          {"--ranks", &arguments.ranks, "Only the first N ranks", "N", false, 2, 4'000'000},
          {"--profile",
           &arguments.profile_file,
           "Compare with the collectives of a profile, inside a server (import nccl-tests)",
           "FILE"}},
         view_options(arguments,
                      {.html = kPageHelp,
                       .csv = "Write the times by size as a table",
                       .trace = "Write a Perfetto trace of the last size: flows, and load of "
                                "links"}),
         {{"--export-simgrid",
           &arguments.simgrid_file,
           "Write the fabric as a platform file of SimGrid",
           "FILE"},
          store,
          topology,
          old_option("--store", "--export-congestion", store),
          old_option("--write-nccl-topology", "--export-nccl-topology", topology)}});
}

}  // namespace orrery
