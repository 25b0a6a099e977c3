// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/campaign.h"

#include <algorithm>
#include <memory>
#include <thread>

#include "scenarios/format/document/output_file.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/fault_note.h"
#include "scenarios/program/page_file.h"
#include "scenarios/report/campaign_report.h"
#include "scenarios/report/json_report.h"
#include "scenarios/report/perfetto_campaign.h"
#include "scenarios/report/progress.h"
#include "scenarios/report/provenance_report.h"
#include "scenarios/report/study_pages.h"
#include "scenarios/studies/campaign/recorded_events.h"
#include "scenarios/studies/campaign/run_campaign.h"
#include "scenarios/studies/campaign/supervised_job.h"

namespace orrery {

namespace {

// Do the scenario's policies, told what a real run's supervisor saw, order the same again?
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

}  // namespace

int campaign_command(const CampaignArguments& arguments) {
    ReadOptions read;
    read.overrides = arguments.overrides;
    const ResultOrErrors<Scenario> scenario = read_scenario(arguments.file, read);
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
    if (!arguments.trace_file.empty()) {
        // Tell an unwritable place now, not after the simulation.
        if (const auto writable = OutputFile::open(arguments.trace_file); !writable) {
            return report_error(writable.error());
        }
    }
    auto page = PageFile::open(arguments.html_file);
    if (!page) {
        return report_error(page.error());
    }
    ProgressBar bar{"simulating"};
    const std::uint32_t cores = std::max(1U, std::thread::hardware_concurrency());
    const CampaignRunOptions options{.threads = arguments.threads == 0 ? cores : arguments.threads,
                                     .progress = [&bar](double share) { bar.show(share); }};
    const Result<CampaignAnswer> answer = run_campaign_scenario(*scenario, options);
    bar.finish();
    if (!answer) {
        Error error = answer.error();
        error.where = error.where.empty() ? arguments.file : error.where;
        return report_error(error);
    }
    if (!arguments.trace_file.empty()) {
        if (const auto written = write_campaign_trace(arguments.trace_file, *answer); !written) {
            return report_error(written.error());
        }
    }
    const Provenance provenance = provenance_of("campaign", *scenario);
    if (page->wanted()) {
        if (const auto written = page->write(campaign_page(*answer), provenance); !written) {
            return report_error(written.error());
        }
    }
    return print_output(arguments.json ? with_provenance(json_report(*answer), provenance)
                                       : campaign_report(*answer));
}

Command describe_campaign() {
    const auto arguments = std::make_shared<CampaignArguments>();
    return {
        .name = "campaign",
        .help = "Weeks of training with faults and recovery: goodput, lost work, spares",
        .options = {{"file", &arguments->file, "Scenario file (YAML)", "FILE", true},
                    override_option(arguments->overrides),
                    {"--html", &arguments->html_file, "Write a page with pictures", "FILE"},
                    {"--json", &arguments->json, "Print one JSON object instead of a report"},
                    {"--trace",
                     &arguments->trace_file,
                     "Write a Perfetto trace of the first seed's run, one process a plan",
                     "FILE"},
                    {"--replay",
                     &arguments->replayed_events,
                     "Tell the policies what a supervised run saw (orrery train --events) and "
                     "compare what they order",
                     "FILE"},
                    {"--threads",
                     &arguments->threads,
                     "Seeds at a time (as many as cores if 0); the answer is the same",
                     "N",
                     false,
                     0,
                     1024}},
        .examples = {"campaign scenarios/llama3-405b-54-days.yaml",
                     "campaign scenarios/recovery-plans.yaml --set campaign.seeds=100 --json"},
        .run = [arguments] { return campaign_command(*arguments); },
    };
}

}  // namespace orrery
