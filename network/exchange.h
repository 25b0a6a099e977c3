// SPDX-License-Identifier: Apache-2.0
// An exchange of rows by a dispatcher: the call, and the messages of which it consists. Links,
// counts and reports all come from these messages.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/units.h"
#include "network/collectives/dispatcher.h"
#include "network/collectives/routed_rows.h"

namespace orrery {

struct Exchange {
    const Dispatcher* dispatcher = nullptr;  // of dispatchers()
    bool combine = false;                    // the same rows, back to their senders
    RoutedRows rows{};                       // of the dispatch
    Bytes row{};                             // bytes of one
    std::uint16_t communicator = 0;
    std::uint32_t sm_limit = 0;  // SMs to hold; 0: as the dispatcher says
};

// The bytes of a row on the wire, with what the dispatcher sends beside it.
double wire_bytes(const Exchange& exchange);

// From one member of the group to another; to itself: a copy.
struct ExchangeMessage {
    std::uint32_t from = 0;  // positions in the group
    std::uint32_t to = 0;
    double bytes = 0;
    double rows = 0;
};
// Phases follow one another; the messages of a phase go at the same time.
struct ExchangePhase {
    std::vector<ExchangeMessage> messages;
};
// None for DispatchRoute::everyone, which is an all-gather or a reduce-scatter.
std::vector<ExchangePhase> exchange_phases(const Exchange& exchange);

}  // namespace orrery
