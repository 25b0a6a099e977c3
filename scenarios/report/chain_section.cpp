// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/served_load_sections.h"

namespace orrery {

ReportSection chain_section(const std::vector<ChainNodeUse>& nodes) {
    ReportSection section{.title = "Nodes of the chain",
                          .note =
                              "Layers are in the device's memory, in the host's, or read from "
                              "the disk for every token. A token takes this long until the "
                              "next node has it."};
    section.table.columns = {{"node"},
                             {"device", Unit::count},
                             {"host", Unit::count},
                             {"disk", Unit::count},
                             {"output layer"},
                             {"a token", Unit::seconds}};
    for (const ChainNodeUse& node : nodes) {
        section.table.rows.push_back({node.node,
                                      node.device_layers,
                                      node.host_layers,
                                      node.disk_layers,
                                      node.output ? "here" : "",
                                      node.token_s});
    }
    return section;
}

}  // namespace orrery
