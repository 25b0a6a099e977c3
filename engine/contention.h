// SPDX-License-Identifier: Apache-2.0
// Which links can slow a transfer down at all? An op occupies its (rank, stream) from arrival to
// end, so that of each (rank, stream) at most one op's transfers move at a time, each at most at
// its uncontended rate. A link whose capacity covers the sum of that over all its (rank, stream)s
// never binds a rate: the parts' own caps already say what it allows. Counting a transfer under its
// first member (the sender) and under its last (the receiver) gives two bounds; the lower one
// holds.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/network_model.h"
#include "engine/role_tape.h"
#include "engine/transfers.h"

namespace orrery {

// By LinkId: can the link bind a rate? Sets ConnectionMessage::uncontended_time, and
// ConnectionMessage::uncontended where no link of a message can be slowed by another one. If `all`,
// every link counts as one that can.
std::vector<bool> find_contended_links(const Program& program,
                                       const Tapes& tapes,
                                       const NetworkModel& network,
                                       Transfers& transfers,
                                       bool all = false);

// Bytes that each link carries in a step of a party.
std::vector<Bytes> link_bytes_per_step(const Program& program,
                                       const Transfers& transfers,
                                       std::size_t num_links,
                                       std::uint32_t job);

}  // namespace orrery
