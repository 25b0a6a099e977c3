// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include "runtime/measure/node_checks.h"
#include "runtime/world.h"
#include "scenarios/program/command_words.h"
#include "scenarios/program/common_options.h"
#include "scenarios/program/diagnose.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/show_output.h"
#include "scenarios/program/unread_keys.h"
#include "scenarios/report/checks_report.h"

namespace orrery {

std::vector<CommandOption> diagnose_options(DiagnoseArguments& arguments) {
    return joined(
        {{{"what",
           &arguments.what,
           "Scenario file (YAML), or the folder of a recorded run; '-' is standard input",
           "WHAT",
           true},
          override_option(arguments.overrides, keys_of_step()),
          processes_option(arguments.num_processes,
                           "Check the connections between N processes here")},
         view_options(arguments, {.html = kPageHelp, .csv = "Write the checks as a table"})});
}

int start_node_checks(DiagnoseArguments arguments) {
    const std::vector<std::string> again =
        command_words("diagnose", diagnose_options(arguments), {"--nproc"});
    const Result<int> status = run_ranks(arguments.num_processes, again);
    return status ? *status : report_error(status.error());
}

int check_as_rank(const DiagnoseArguments& arguments) {
    const Result<ProcessWorld> world = join_world();
    if (!world) {
        return report_error(world.error());
    }
    if (world->transport == nullptr) {
        return report_error({"--nproc", "one process has no other to talk to", "--nproc 4"});
    }
    const auto checks = check_nodes(*world->transport);
    if (!checks) {
        return report_error(checks.error());
    }
    if (world->rank != 0) {
        return kExitOk;
    }
    const std::vector<Suspect> found = suspects(*checks);
    return show_output(arguments,
                       {.report = node_checks_sections(*checks, found),
                        .json = node_checks_json(*checks, found),
                        .provenance = provenance_of("diagnose"),
                        .status = found.empty() ? kExitOk : kExitFinding});
}

}  // namespace orrery
