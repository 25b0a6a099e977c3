// SPDX-License-Identifier: Apache-2.0
// Runs a communication pattern alone on a scenario's network, once per size: a collective as NCCL
// would run it, or plain flows between ranks, while the links change as `network.events` says.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/world/measured_transfer.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/studies/network/network_answer.h"
#include "scenarios/studies/network/network_trace.h"

namespace orrery {

struct NetworkRequest {
    std::string pattern = "all_reduce";  // network_patterns()
    std::vector<Bytes> sizes;            // of a collective's vector, or of each flow's message
    std::uint32_t ranks = 0;             // the first ones; 0: all
    bool trace = false;                  // fill the trace, of the last size
    // Measured inside a server of this device, to compare with; another group is not compared.
    std::vector<MeasuredTransfer> measured{};
    std::function<void(double)> progress{};  // hears the share that is done, by bytes
};

const std::vector<std::string>& network_patterns();

Result<NetworkAnswer> study_network(const Scenario& scenario,
                                    const NetworkRequest& request,
                                    NetworkTrace& trace);

}  // namespace orrery
