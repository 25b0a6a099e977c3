// SPDX-License-Identifier: Apache-2.0
// A step whose transfers between servers are packets, all of them or those in a window. The step is
// simulated twice, with every rank separate: first with fair shares, which gives the time of the
// window and the number of its packets, then with packets during the window (PacketRates).
#pragma once

#include <string>

#include "engine/world/simulation.h"
#include "network/packet_network.h"
#include "scenarios/format/specs/network_settings.h"
#include "scenarios/studies/simulate/answer.h"

namespace orrery {

// `network` is the input's network, or the one that plans its transfers. Fills in `met`. The error
// says that the window has too many packets, or names traffic that does not exist.
SimulationOutcome simulate_on_packets(SimulationInput input,
                                      const PacketNetwork& network,
                                      const StepWindow& window,
                                      PacketWindowUse& met);

}  // namespace orrery
