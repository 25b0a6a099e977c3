// SPDX-License-Identifier: Apache-2.0
// What `orrery serve` shows: latencies with percentiles, throughput, the use of each pool, and the
// distributions of latencies.
#pragma once

#include <string>

#include "engine/serving/serving_run.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/report/report.h"
#include "scenarios/studies/serve/served_timeline.h"
#include "scenarios/studies/serve/serving_study.h"

namespace orrery {

// "3 x tp 8, pp 2"
std::string words_of_pool(const ServingPoolSpec& pool);

Report serving_sections(const Scenario& scenario,
                        const ServingAnswer& answer,
                        const ServingResult& result,
                        const ServedTimeline& timeline = {});
// Seconds, tokens and bytes; docs/schema/serve.schema.json.
std::string serving_json(const Scenario& scenario,
                         const ServingAnswer& answer,
                         const ServedTimeline& timeline = {});

}  // namespace orrery
