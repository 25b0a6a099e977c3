// SPDX-License-Identifier: Apache-2.0
// The network of a scenario's step: its fabric with the faults' slow links, NCCL on it, and at
// fidelity packet the conversion of transfers to packets.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/base/result.h"
#include "engine/program/cause.h"
#include "network/nccl_network.h"
#include "network/packet_network.h"
#include "scenarios/format/specs/scenario.h"

namespace orrery {

struct StepNetwork {
    std::unique_ptr<NcclNetwork> nccl;
    std::unique_ptr<PacketNetwork> packets;  // for fidelity packet, else null

    const NetworkModel& model() const {
        return packets ? static_cast<const NetworkModel&>(*packets) : *nccl;
    }
};

// Without network contention there are no packets either.
Result<StepNetwork> build_step_network(const Scenario& scenario,
                                       const std::vector<FaultEvent>& faults,
                                       std::optional<Cause> without);

}  // namespace orrery
