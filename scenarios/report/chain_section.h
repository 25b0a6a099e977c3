// SPDX-License-Identifier: Apache-2.0
// Which nodes of a chain hold how many layers, and what a token takes at each.
#pragma once

#include <vector>

#include "scenarios/report/report.h"
#include "scenarios/studies/serve/layer_chain.h"

namespace orrery {

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
