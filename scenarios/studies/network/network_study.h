// SPDX-License-Identifier: Apache-2.0
// Runs a communication pattern alone on a scenario's network, once for each size: a collective as
// NCCL would run it, or plain flows between ranks. Links change according to `network.events`.
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
    std::uint32_t ranks = 0;             // number of ranks, from the first; 0: all
    bool trace = false;                  // fill the trace, for the last size
    // Measurements inside a server of this device, for comparison. Groups of other ranks are not
    // compared.
    std::vector<MeasuredTransfer> measured{};
    std::function<void(double)> progress{};  // called with the finished share of the bytes
};

const std::vector<std::string>& network_patterns();

Result<NetworkAnswer> study_network(const Scenario& scenario,
                                    const NetworkRequest& request,
                                    NetworkTrace& trace);

}  // namespace orrery
