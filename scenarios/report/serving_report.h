// SPDX-License-Identifier: Apache-2.0
// Reports and JSON of served loads.
#pragma once

#include <string>

#include "engine/serving/serving_run.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/report/render/report.h"
#include "scenarios/studies/serve/real_serving.h"
#include "scenarios/studies/serve/search_pools.h"
#include "scenarios/studies/serve/served_campaign.h"
#include "scenarios/studies/serve/served_timeline.h"
#include "scenarios/studies/serve/serving_study.h"

namespace orrery {

// "3 x tp 8, pp 2"
std::string words_of_pool(const ServingPoolSpec& pool);

// Latencies with percentiles, throughput, the use of each pool, and the distributions of latencies.
Report serving_sections(const Scenario& scenario,
                        const ServingAnswer& answer,
                        const ServingResult& result,
                        const ServedTimeline& timeline = {});
// Seconds, tokens and bytes; docs/schema/serve.schema.json.
std::string serving_json(const Scenario& scenario,
                         const ServingAnswer& answer,
                         const ServedTimeline& timeline = {});

// Report of `orrery serve --real`: that of a simulated run with the measured figures, and the
// prediction beside them.
Report real_serving_sections(const Scenario& scenario,
                             const RealServingAnswer& answer,
                             const ServingResult& measured);
// The keys of serving_json() with the measured figures, and `predicted` with the simulated ones;
// docs/schema/serve.schema.json.
std::string real_serving_json(const Scenario& scenario, const RealServingAnswer& answer);

// Report of `orrery campaign` for a served load: the effect of faults.
Report served_campaign_sections(const Scenario& scenario, const ServedCampaign& campaign);
// docs/schema/campaign_serving.schema.json
std::string served_campaign_json(const Scenario& scenario, const ServedCampaign& campaign);

// Result of a search among pools: a table of the best ones with their latencies.
Report pool_search_sections(const Scenario& scenario, const PoolSearchResult& result);
// Seconds, tokens and GPUs; docs/schema/search_pools.schema.json.
std::string pool_search_json(const Scenario& scenario, const PoolSearchResult& result);

}  // namespace orrery
