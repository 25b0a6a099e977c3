// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/compare.h"

#include <memory>

#include "scenarios/program/exit_status.h"
#include "scenarios/program/fault_note.h"
#include "scenarios/program/page_file.h"
#include "scenarios/report/provenance_report.h"
#include "scenarios/report/study_pages.h"
#include "scenarios/studies/measure/run_comparison.h"

namespace orrery {

int compare_command(const CompareArguments& arguments) {
    auto page = PageFile::open(arguments.html_file);
    if (!page) {
        return report_error(page.error());
    }
    const auto run = read_recorded_run(arguments.run);
    if (!run) {
        return report_errors(run.error());
    }
    note_faults_left_out(run->scenario, FaultUser::recorded_run);
    const Result<RunComparison> comparison = compare_run(*run, arguments.profile_file);
    if (!comparison) {
        return report_error(comparison.error());
    }
    Provenance provenance = provenance_of("compare", run->scenario);
    provenance.recorded_by = run->description.build;
    provenance.add_input(arguments.profile_file);
    if (page->wanted()) {
        if (const auto written = page->write(comparison_page(*comparison), provenance); !written) {
            return report_error(written.error());
        }
    }
    return print_output(arguments.json ? with_provenance(comparison_json(*comparison), provenance)
                                       : comparison_report(*comparison));
}

Command describe_compare() {
    const auto arguments = std::make_shared<CompareArguments>();
    return {
        .name = "compare",
        .help = "Show a recorded run beside its prediction: step, kernels, communication, memory",
        .options = {{"run", &arguments->run, "Folder of orrery train --record", "RUN", true},
                    {"--profile",
                     &arguments->profile_file,
                     "Measured times (CSV) to predict with, of orrery profile or calibrate",
                     "FILE"},
                    {"--html", &arguments->html_file, "Write a page with pictures", "FILE"},
                    {"--json", &arguments->json, "Print one JSON object instead of a report"}},
        .examples = {"compare build/run", "compare build/run --profile build/machine.csv --json"},
        .run = [arguments] { return compare_command(*arguments); },
    };
}

}  // namespace orrery
