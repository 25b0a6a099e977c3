// SPDX-License-Identifier: Apache-2.0
// An exchange of rows by a dispatcher: the call and its messages. Loads of links, counts and
// reports are derived from these messages.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/units.h"
#include "network/collectives/dispatcher.h"
#include "network/collectives/routed_rows.h"

namespace orrery {

struct Exchange {
    const Dispatcher* dispatcher = nullptr;  // an entry of dispatchers()
    bool combine = false;                    // the same rows on their way back to the senders
    RoutedRows rows{};                       // of the dispatch
    Bytes row{};                             // bytes of one row
    std::uint16_t communicator = 0;
    std::uint32_t sm_limit = 0;  // SMs to hold; 0: the dispatcher's own number
};

// The bytes of a row on the wire, including the dispatcher's additions.
double wire_bytes(const Exchange& exchange);

// A message from one member of the group to another; to itself, a copy.
struct ExchangeMessage {
    std::uint32_t from = 0;  // positions in the group
    std::uint32_t to = 0;
    double bytes = 0;
    double rows = 0;
};
// The messages of a phase are concurrent; phases are in sequence.
struct ExchangePhase {
    std::vector<ExchangeMessage> messages;
};
// Empty for DispatchRoute::everyone, which is an all-gather or a reduce-scatter.
std::vector<ExchangePhase> exchange_phases(const Exchange& exchange);

}  // namespace orrery
