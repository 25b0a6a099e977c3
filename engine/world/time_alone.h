// SPDX-License-Identifier: Apache-2.0
// The time of the parts of one phase without other transfers, by the max-min rule of
// network/fluid/fluid.h for a few coupled transfers that start together. The smallest of (C_l -
// frozen) / (sum of free counts) over the links and of each part's own cap freezes the parts that
// it binds. This repeats with the remaining parts.
#pragma once

#include <cstdint>
#include <span>

#include "engine/world/transfers.h"

namespace orrery {

// The time after the latency. Without `contention` parts do not slow each other down. Time::max()
// if a part has no bandwidth.
Time time_alone(const Transfers& transfers,
                const Phase& phase,
                std::span<const LinkInfo> links,
                bool contention);

// Sets ConnectionMessage::uncontended_time. Sets ConnectionMessage::uncontended if a message
// crosses no link or the network has no contention.
void time_messages_alone(const NetworkModel& network, Transfers& transfers);

}  // namespace orrery
