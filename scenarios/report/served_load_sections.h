// SPDX-License-Identifier: Apache-2.0
// Sections on a served load besides its latencies: the parts of the requests' time, the load of the
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

// The parts of the time from arrival to last token, without the parts that no request had.
ReportSection request_times_section(const ServingAnswer& answer);

// Empty if nothing was recorded over time.
std::vector<ReportSection> load_sections(const ServingAnswer& answer,
                                         const ServedTimeline& timeline);

// One row per request (CSV, seconds and tokens): its sizes, its arrival and its times. A refused
// request has empty cells.
std::string requests_csv(const std::vector<Request>& requests, const ServingResult& result);

// Sections of optional features: encoders of images, the power of the row, autoscaled instances,
// tiers below the caches.
ReportSection encoder_section(const ServingAnswer::Encoder& encoder);
ReportSection row_section(const ServingAnswer::Row& row);
ReportSection scaling_section(const ServingAnswer& answer);
ReportSection tiers_section(const ServingAnswer& answer);

// The layers on each node of a chain, and the time of a token there.
ReportSection chain_section(const std::vector<ChainNodeUse>& nodes);
// A template, so that only sources include nlohmann-json.
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
