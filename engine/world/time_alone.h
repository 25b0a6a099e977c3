// SPDX-License-Identifier: Apache-2.0
// How long the parts of one phase take when nothing else moves: the max-min rule of
// network/fluid/fluid.h for a handful of coupled transfers that start together. The smallest of
// (C_l - frozen) / (sum of free counts) on each link and of each part's own cap freezes the parts
// that it binds; then the next.
#pragma once

#include <cstdint>
#include <span>

#include "engine/world/transfers.h"

namespace orrery {

// From the end of the latency. `contention` false: parts never slow each other down.
// Time::max() if a part has no bandwidth.
Time time_alone(const Transfers& transfers,
                const Phase& phase,
                std::span<const LinkInfo> links,
                bool contention);

// Sets ConnectionMessage::uncontended_time, and ConnectionMessage::uncontended where a message
// crosses no link, or where links of the network slow nothing down.
void time_messages_alone(const NetworkModel& network, Transfers& transfers);

}  // namespace orrery
