// SPDX-License-Identifier: Apache-2.0
// Sections on a served load beside its latencies: where the time of requests went, the load of the
// pools over time, and the batches around the fullest moment.
#pragma once

#include <string>
#include <vector>

#include "engine/serving/serving_run.h"
#include "scenarios/report/report.h"
#include "scenarios/studies/serve/served_timeline.h"
#include "scenarios/studies/serve/serving_study.h"

namespace orrery {

// The parts of the time from the arrival to the last token, without the ones that no request had.
ReportSection request_times_section(const ServingAnswer& answer);

// None where nothing was watched.
std::vector<ReportSection> load_sections(const ServingAnswer& answer,
                                         const ServedTimeline& timeline);

// A row for each request (CSV, seconds and tokens): what it was, when it came, and its times. Empty
// cells of requests that were refused.
std::string requests_csv(const std::vector<Request>& requests, const ServingResult& result);

}  // namespace orrery
