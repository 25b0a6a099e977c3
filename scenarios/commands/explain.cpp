// SPDX-License-Identifier: Apache-2.0
#include "scenarios/commands/explain.h"

#include <memory>

#include "scenarios/commands/exit_status.h"
#include "scenarios/commands/fault_note.h"
#include "scenarios/explain/explain.h"
#include "scenarios/report/explain_report.h"
#include "scenarios/report/progress.h"
#include "scenarios/report/provenance_report.h"

namespace orrery {

int explain_command(const ExplainArguments& arguments) {
    ProgressBar bar{"trying changes"};
    const auto explanation =
        explain_scenario(arguments.file,
                         {.overrides = arguments.overrides,
                          .keep = static_cast<std::size_t>(arguments.keep),
                          .jobs = arguments.jobs,
                          .progress = [&bar](double share) { bar.show(share); }});
    bar.finish();
    if (!explanation) {
        Errors errors = explanation.error();
        for (Error& error : errors) {
            error.where = error.where.empty() ? arguments.file : error.where;
        }
        return report_errors(errors);
    }
    note_faults_left_out(explanation->answer.faults_left_out);
    return print_output(arguments.json
                            ? with_provenance(explain_json(*explanation), explanation->provenance)
                            : explain_report(*explanation));
}

Command describe_explain() {
    const auto arguments = std::make_shared<ExplainArguments>();
    return {
        .name = "explain",
        .help = "Say what limits a scenario, and which change would help most",
        .options = {{"file", &arguments->file, "Scenario file (YAML)", "FILE", true},
                    override_option(arguments->overrides),
                    {.names = "--keep",
                     .target = &arguments->keep,
                     .help = "Changes to tell, of each kind",
                     .type_name = "N",
                     .least = 1,
                     .most = 1000},
                    jobs_option(arguments->jobs),
                    {"--json", &arguments->json, "Print one JSON object instead of words"}},
        .examples = {"explain scenarios/llama3-70b-h100.yaml",
                     "explain scenarios/gpt3-175b-1024-a100.yaml --keep 10"},
        .run = [arguments] { return explain_command(*arguments); },
    };
}

}  // namespace orrery
