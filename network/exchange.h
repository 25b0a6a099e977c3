// SPDX-License-Identifier: Apache-2.0
// An exchange of rows by a dispatcher: the call, and the messages of which it consists. Links,
// counts and reports all come from these messages.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/units.h"
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

// Of a row on the wire, with what the dispatcher sends beside it.
double wire_bytes(const Exchange& exchange);

// All-to-all-v of NCCL: bytes by sender and receiver, [from * ranks + to].
Exchange exchange_of_bytes(std::uint32_t ranks,
                           std::uint32_t servers,
                           const std::vector<std::int64_t>& bytes);

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

// What an average member sends, in bytes, over NVLink (or PCIe) inside its server and over the
// network to others; empty messages are not counted. What a message between servers passes
// inside a server on its way is not counted.
struct ExchangeTraffic {
    double inside_bytes = 0;
    double network_bytes = 0;
    double inside_messages = 0;
    double network_messages = 0;
    std::uint32_t sms = 0;  // 0: none, or as many as NCCL has channels (Dispatcher::sms)
    bool host_sync = false;
};
ExchangeTraffic traffic_of(const Exchange& exchange);

}  // namespace orrery
