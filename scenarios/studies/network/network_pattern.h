// SPDX-License-Identifier: Apache-2.0
// The communication patterns of `orrery network`: collectives, the ring of messages that nccl-tests
// calls sendrecv, and plain flows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/program/program.h"
#include "network/fabric/traffic.h"

namespace orrery {

struct NetworkPattern {
    std::string name;
    std::optional<CollectiveKind> collective;
    std::optional<TrafficPattern> traffic;
};

const std::vector<NetworkPattern>& all_network_patterns();

// nccl-tests' ratio of bus bandwidth to algorithm bandwidth.
double bus_factor(std::optional<CollectiveKind> kind, std::uint32_t ranks);

}  // namespace orrery
