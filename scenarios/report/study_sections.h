// SPDX-License-Identifier: Apache-2.0
// The reports of studies (report/render/report.h): the content of their pages, tables and Markdown.
// Most JSON is in report/render/json_report.h.
#pragma once

#include <string>
#include <vector>

#include "scenarios/format/specs/scenario.h"
#include "scenarios/report/render/report.h"
#include "scenarios/report/render/timeline_bars.h"
#include "scenarios/studies/campaign/campaign_answer.h"
#include "scenarios/studies/explain/explain.h"
#include "scenarios/studies/measure/run_comparison.h"
#include "scenarios/studies/network/congestion_study.h"
#include "scenarios/studies/network/network_answer.h"
#include "scenarios/studies/replay/replay.h"
#include "scenarios/studies/search/search.h"
#include "scenarios/studies/search/sensitivity.h"
#include "scenarios/studies/simulate/answer.h"
#include "scenarios/studies/simulate/simulate_jobs.h"
#include "scenarios/studies/sweep/sweep.h"

namespace orrery {

Report search_sections(const Scenario& scenario,
                       const SearchResult& result,
                       const std::vector<SensitiveFigure>& figures);
Report sweep_sections(const std::string& name, const SweepOutcome& outcome);
Report campaign_sections(const CampaignAnswer& answer);
// Parts of the report: one recovery plan, with the days to `tokens` if there are any, and the
// events of the first seed.
ReportSection recovery_plan_section(const PlanAnswer& plan, double tokens);
ReportSection first_run_section(const PlanAnswer& plan);
// "91.23 ± 0.23 %", with half the width of the confidence interval.
std::string share_text(const Statistic& share);
Report network_sections(const NetworkAnswer& answer);
Report comparison_sections(const RunComparison& comparison);
// With `timeline` the page has pictures of the ranks and of the memory over time.
Report step_sections(const Answer& answer, const TimelineBars* timeline = nullptr);
// Parts of the report: the waterfall from the device's peak to the MFU, the faults in the step, the
// packets.
ReportSection waterfall_section(const Answer& answer, const std::string& title);
std::vector<ReportSection> step_fault_sections(const Answer& answer);
ReportSection packets_section(const Answer& answer);
Report explain_sections(const Explanation& explanation);

// Several jobs on one cluster (studies/simulate/simulate_jobs.h). Seconds and bytes;
// docs/schema/simulate_jobs.schema.json.
std::string jobs_json(const JobsAnswer& answer);
Report jobs_sections(const JobsAnswer& answer);

// Measured congestion-control factors (studies/network/congestion_study.h).
Report congestion_sections(const CongestionStudy& study);
std::string congestion_json(const CongestionStudy& study);

// A replayed step (studies/replay/replay.h).
Report replay_sections(const std::string& name, const ReplayAnswer& answer);
std::string replay_json(const std::string& name, const ReplayAnswer& answer);

}  // namespace orrery
