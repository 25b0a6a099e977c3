// SPDX-License-Identifier: Apache-2.0
// Small scenarios on clusters of several kinds of nodes.
#pragma once

#include <string>
#include <vector>

#include "tests/scenarios/small_scenarios.h"

namespace orrery {

// One server of four H100 and one of four A100, a pipeline stage each.
inline Scenario mixed_scenario(const std::vector<std::string>& more = {},
                               const std::string& of_first = "",
                               const std::string& of_second = "",
                               const std::string& networks = "fabric: single-switch-400") {
    const std::string cluster =
        "cluster={kinds: [{nodes: 1, node: {base: dgx-h100, "
        "gpus_per_node: 4}" +
        of_first + "}, {nodes: 1, node: {base: dgx-a100-80g, gpus_per_node: 4}" + of_second +
        "}], " + networks + "}";
    std::vector<std::string> settings{cluster, "plan.pipeline_model_parallel_size=2"};
    settings.insert(settings.end(), more.begin(), more.end());
    return small_scenario("mixed", settings);
}

// The same with InfiniBand and RoCE adapters, and an Ethernet.
inline Scenario classes_scenario(const std::vector<std::string>& more = {}) {
    return mixed_scenario(more,
                          ", nic_class: infiniband",
                          ", nic_class: roce",
                          "fabric: single-switch-400, ethernet: ethernet-25");
}

}  // namespace orrery
