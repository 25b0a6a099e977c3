// SPDX-License-Identifier: Apache-2.0
// The ways in which tokens reach their experts and come back, as values: what a library sends, over
// which levels, what moves it and what it asks of the host. A plan names one; the network lays it
// on links (network/exchange.h). Each moves rows (routed_rows.h) out in a dispatch and, the same
// pairs reversed, back in a combine, where rows of a token are summed.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "engine/program/program.h"

namespace orrery {

enum class DispatchRoute : std::uint8_t {
    pairs,      // a message to each peer, by NCCL: on the receiver's rail over NVLink first (PXN)
    direct,     // a message to each peer, by the sender's own NIC
    everyone,   // all tokens to all ranks (all-gather), and sums of outputs back (reduce-scatter)
    leaders,    // to the server's first GPU, from leader to leader, and on: one NIC a server
    two_steps,  // to the GPU of the receiver's local index, then between equal indices (Tutel 2DH)
    two_level,  // to the GPU of the sender's local index on each server, then on: both at once
};

// What a row is sent for.
enum class RowCopies : std::uint8_t {
    choice,    // once for each expert
    distinct,  // once for each rank, and between servers once for each server
    all,       // once for every rank
};

struct Dispatcher {
    std::string_view name;
    DispatchRoute route = DispatchRoute::pairs;
    RowCopies copies = RowCopies::choice;
    TransferEngine engine = TransferEngine::sm;
    // SMs that it holds by default; 0 of an engine sm: as many as NCCL has channels.
    std::uint32_t sms = 0;
    // SMs of one channel: with two, one of them sends and one receives; a lone one also sums.
    std::uint32_t channel_sms = 1;
    double row_us = 0;             // of a channel for a row, besides its bytes
    std::uint32_t row_header = 0;  // bytes beside a row on the wire
    // Bytes beside a dispatched row for each expert of the server: its probabilities.
    std::uint32_t expert_bytes = 0;
    // Between servers, where no congestion has been measured: share of the NICs' rate that its
    // messages reach. A call takes network_us besides, from the first message to the last flag.
    double network_share = 1;
    double network_us = 0;
    // Barriers of a call: all ranks of a server add to one flag, one after the other, and wait for
    // it.
    std::uint32_t barriers = 0;
    bool host_sync = false;   // the host must know the counts before memory is allocated
    bool copies_out = false;  // rows are copied between the library's buffer and tensors
    // What a framework launches for one: counts or layout, their exchange, the kernel itself.
    std::uint32_t dispatch_calls = 1;
    std::uint32_t combine_calls = 1;
};

// alltoall, allgather, hierarchical, 2dh, deepep, deepep_low_latency, hybridep, host_driven.
std::span<const Dispatcher> dispatchers();
const Dispatcher* find_dispatcher(std::string_view name);
// By its place in the list from 1 on (RowExchange::dispatcher); null: none.
const Dispatcher* numbered_dispatcher(std::uint8_t number);

}  // namespace orrery
