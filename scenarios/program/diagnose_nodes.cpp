// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/diagnose_nodes.h"

#include <string>
#include <utility>
#include <vector>

#include "runtime/measure/node_checks.h"
#include "runtime/world.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/show_output.h"
#include "scenarios/report/node_checks_report.h"

namespace orrery {

int start_node_checks(const DiagnoseArguments& arguments) {
    std::vector<std::string> again{"diagnose", arguments.what};
    for (const auto& [option, value] : {std::pair{"--format", &arguments.format},
                                        {"--html", &arguments.html_file},
                                        {"--csv", &arguments.csv_file}}) {
        if (!value->empty()) {
            again.insert(again.end(), {option, *value});
        }
    }
    if (arguments.json) {
        again.emplace_back("--json");
    }
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
