// SPDX-License-Identifier: Apache-2.0
// Sections on a served load beside its latencies: where the time of requests went, the load of the
// pools over time, and the batches around the fullest moment.
#pragma once

#include <string>
#include <vector>

#include "engine/serving/serving_run.h"
#include "scenarios/report/render/report.h"
#include "scenarios/studies/serve/layer_chain.h"
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

// What not every served load has: encoders of its images, the power of the row, instances that
// follow the load, tiers below the caches.
ReportSection encoder_section(const ServingAnswer::Encoder& encoder);
ReportSection row_section(const ServingAnswer::Row& row);
ReportSection scaling_section(const ServingAnswer& answer);
ReportSection tiers_section(const ServingAnswer& answer);

// Which nodes of a chain hold how many layers, and what a token takes at each.
ReportSection chain_section(const std::vector<ChainNodeUse>& nodes);
// A template, so that nlohmann-json stays in sources.
template <class Json>
Json chain_json(const std::vector<ChainNodeUse>& nodes) {
    Json list = Json::array();
    for (const ChainNodeUse& node : nodes) {
        list.push_back({{"node", node.node},
                        {"device_layers", node.device_layers},
                        {"host_layers", node.host_layers},
                        {"disk_layers", node.disk_layers},
                        {"output", node.output},
                        {"token_s", node.token_s}});
    }
    return list;
}

}  // namespace orrery
