// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/any_scenario.h"
#include "scenarios/program/campaign.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/fault_note.h"
#include "scenarios/program/run_study.h"
#include "scenarios/report/serving_report.h"
#include "scenarios/studies/serve/served_campaign.h"

namespace orrery {
namespace {

int campaign_of_load(const CampaignArguments& arguments) {
    const ResultOrErrors<Scenario> scenario = read_served_load(arguments.file, arguments.overrides);
    if (!scenario) {
        return report_errors(scenario.error());
    }
    if (!arguments.replayed_events.empty() || !arguments.trace_file.empty()) {
        return report_error({arguments.file,
                             "--replay and --trace are for campaigns of a training",
                             "leave them out"});
    }
    note_faults_left_out(*scenario, FaultUser::serving);
    return run_study(arguments,
                     arguments.file,
                     "serving",
                     [&](const auto& progress) -> ResultOrErrors<StudyOutput> {
                         const auto runs = run_served_campaign(*scenario, arguments.jobs, progress);
                         if (!runs) {
                             return unexpected<Errors>(runs.error());
                         }
                         return StudyOutput{.report = served_campaign_sections(*scenario, *runs),
                                            .json = served_campaign_json(*scenario, *runs),
                                            .provenance = provenance_of("campaign", *scenario)};
                     });
}

}  // namespace

int any_campaign_command(const CampaignArguments& arguments) {
    return is_served_load(arguments.file) ? campaign_of_load(arguments)
                                          : campaign_command(arguments);
}

}  // namespace orrery
