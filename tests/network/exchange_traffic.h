// SPDX-License-Identifier: Apache-2.0
// Exchanges given by their bytes, and what an exchange sends in all.
#pragma once

#include "engine/base/check.h"
#include "network/exchange.h"

namespace orrery {

// All-to-all-v of NCCL: bytes by sender and receiver, [from * ranks + to].
inline Exchange exchange_of_bytes(std::uint32_t ranks,
                                  std::uint32_t servers,
                                  const std::vector<std::int64_t>& bytes) {
    ORRERY_CHECK(bytes.size() == std::size_t{ranks} * ranks);
    Exchange exchange{.dispatcher = find_dispatcher("alltoall"), .row = Bytes{1}};
    exchange.rows.ranks = ranks;
    exchange.rows.servers = servers;
    exchange.rows.choices.assign(bytes.begin(), bytes.end());
    return exchange;
}

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
inline ExchangeTraffic traffic_of(const Exchange& exchange) {
    const Dispatcher& dispatcher = *exchange.dispatcher;
    const RoutedRows& rows = exchange.rows;
    const std::uint32_t of_server = rows.ranks / rows.servers;
    ExchangeTraffic traffic{.sms = exchange.sm_limit > 0 ? exchange.sm_limit : dispatcher.sms,
                            .host_sync = dispatcher.host_sync};
    if (dispatcher.engine != TransferEngine::sm) {
        traffic.sms = 0;
    }
    if (dispatcher.route == DispatchRoute::everyone) {
        // A ring: every rank passes on what all but one of the others have.
        const double all =
            rows.tokens * static_cast<double>(exchange.row.count()) * (rows.ranks - 1);
        const double crossing = rows.servers > 1 ? 1.0 / of_server : 0.0;
        traffic.network_bytes = all * crossing;
        traffic.inside_bytes = all * (1 - crossing);
        return traffic;
    }
    for (const ExchangePhase& phase : exchange_phases(exchange)) {
        for (const ExchangeMessage& message : phase.messages) {
            if (message.from == message.to) {
                continue;
            }
            const bool inside = message.from / of_server == message.to / of_server;
            (inside ? traffic.inside_bytes : traffic.network_bytes) += message.bytes / rows.ranks;
            (inside ? traffic.inside_messages : traffic.network_messages) += 1.0 / rows.ranks;
        }
    }
    return traffic;
}

}  // namespace orrery
