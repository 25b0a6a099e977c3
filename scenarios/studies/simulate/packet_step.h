// SPDX-License-Identifier: Apache-2.0
// A step whose transfers between servers are packets, all of them or those of a window. The step is
// simulated twice, every rank on its own: once with fair shares, which says when the window is and
// how many packets it takes, and again with packets from its begin to its end (PacketRates).
#pragma once

#include <string>

#include "engine/world/simulation.h"
#include "network/packet_network.h"
#include "scenarios/format/specs/network_settings.h"
#include "scenarios/studies/simulate/answer.h"

namespace orrery {

// `network` is the input's, or what that plans by. Fills in `met`. The error says that the window
// takes too many packets, or which traffic there is not.
SimulationOutcome simulate_on_packets(SimulationInput input,
                                      const PacketNetwork& network,
                                      const StepWindow& window,
                                      PacketWindowUse& met);

}  // namespace orrery
