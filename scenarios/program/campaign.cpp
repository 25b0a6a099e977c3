// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/campaign.h"

#include <algorithm>
#include <memory>
#include <thread>

#include "scenarios/format/read/reader.h"
#include "scenarios/program/common_options.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/fault_note.h"
#include "scenarios/program/run_study.h"
#include "scenarios/program/unread_keys.h"
#include "scenarios/report/render/json_report.h"
#include "scenarios/report/study_sections.h"
#include "scenarios/report/trace/perfetto_trace.h"
#include "scenarios/studies/campaign/recorded_events.h"
#include "scenarios/studies/campaign/run_campaign.h"
#include "scenarios/studies/campaign/supervised_job.h"

namespace orrery {
namespace {

// Replays the observations of a real run's supervisor: the scenario's policies must order the same
// actions.
int replay(const std::string& file, const Scenario& scenario) {
    const auto events = read_events(file);
    if (!events) {
        return report_errors(events.error());
    }
    const auto job = supervised_job(scenario);
    if (!job) {
        return report_errors(job.error());
    }
    std::vector<std::string> names;
    for (const auto& policy : make_ladder(job->policies)) {
        names.emplace_back(policy->name());
    }
    if (names != events->policies || !(job->shape == events->shape)) {
        return report_error({file, "is of a job with other policies or another layout", {}});
    }
    const std::string again = replay_events(*events, make_ladder(job->policies), job->limits);
    if (again != events->actions) {
        return report_error({file,
                             "replayed, the policies order other actions:\n" + again +
                                 "instead of\n" + events->actions,
                             {}});
    }
    return print_output(again + "the same actions, byte for byte\n");
}

ResultOrErrors<StudyOutput> campaign_output(const Scenario& scenario,
                                            std::uint32_t jobs,
                                            const std::function<void(double)>& progress) {
    const std::uint32_t cores = std::max(1U, std::thread::hardware_concurrency());
    const Result<CampaignAnswer> answer = run_campaign_scenario(
        scenario, {.threads = jobs == 0 ? cores : jobs, .progress = progress});
    if (!answer) {
        return unexpected<Errors>(Errors{answer.error()});
    }
    return StudyOutput{.report = campaign_sections(*answer),
                       .json = json_report(*answer),
                       .provenance = provenance_of("campaign", scenario),
                       .write_trace = [answer](const std::string& file) {
                           return write_campaign_trace(file, *answer);
                       }};
}

}  // namespace

int campaign_command(const CampaignArguments& arguments) {
    const ResultOrErrors<Scenario> scenario =
        read_scenario(arguments.file, {.overrides = arguments.overrides});
    if (!scenario) {
        return report_errors(scenario.error());
    }
    if (!arguments.replayed_events.empty()) {
        return replay(arguments.replayed_events, *scenario);
    }
    if (!scenario->campaign.present) {
        return report_error({arguments.file,
                             "the scenario has no section 'campaign'",
                             "campaign: {days: 30, seeds: 30}, and faults: […]"});
    }
    note_faults_left_out(*scenario, FaultUser::campaign);
    return run_study(arguments, arguments.file, "simulating", [&](const auto& progress) {
        return campaign_output(*scenario, arguments.jobs, progress);
    });
}

Command describe_campaign() {
    const auto arguments = std::make_shared<CampaignArguments>();
    return {
        .name = "campaign",
        .group = CommandGroup::predict,
        .help = "Weeks of training with faults and recovery: goodput, lost work, spares",
        .options = joined(
            {{scenario_option(arguments->file),
              override_option(
                  arguments->overrides,
                  joined_uses({keys_of_training(), keys_of_load(), {{"recovery"}, {"campaign"}}}))},
             view_options(*arguments,
                          {.html = kPageHelp,
                           .csv = "Write the recovery plans as a table",
                           .trace = "Write a Perfetto trace of the first seed's run, one process a "
                                    "plan"}),
             {{"--replay",
               &arguments->replayed_events,
               "Tell the policies what a supervised run saw (orrery train --events) and "
               "compare what they order",
               "FILE"},
              jobs_option(arguments->jobs),
              old_option("--threads", "--jobs", jobs_option(arguments->jobs))}}),
        .examples = {"campaign scenarios/llama3-405b-54-days.yaml",
                     "campaign scenarios/recovery-plans.yaml --set campaign.seeds=100 --json"},
        .run = [arguments] { return any_campaign_command(*arguments); },
    };
}

}  // namespace orrery
