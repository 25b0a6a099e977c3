// SPDX-License-Identifier: Apache-2.0
// Libraries that move tokens to their experts and back: the rows that they send, their route, the
// engine that moves the bytes, and their use of the host. A plan names one, and the network lays it
// on links (network/exchange.h). A dispatch moves rows (routed_rows.h) out. A combine moves them
// back between the same pairs and sums the rows of a token.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "engine/program/program.h"

namespace orrery {

enum class DispatchRoute : std::uint8_t {
    pairs,     // a message to each peer by NCCL: first over NVLink to the receiver's rail (PXN)
    direct,    // a message to each peer by the sender's own NIC
    everyone,  // all tokens to all ranks (all-gather), and sums of outputs back (reduce-scatter)
    // To the server's first GPU, between first GPUs, then to the receiver: one NIC per server
    leaders,
    // To the GPU with the receiver's local index, then between equal indices (Tutel 2DH)
    two_steps,
    // To the GPU with the sender's local index on each server, and on; both concurrently
    two_level,
};

// The copies of a row that are sent.
enum class RowCopies : std::uint8_t {
    choice,    // one for each expert
    distinct,  // one for each rank, and between servers one for each server
    all,       // one for every rank
};

struct Dispatcher {
    std::string_view name;
    DispatchRoute route = DispatchRoute::pairs;
    RowCopies copies = RowCopies::choice;
    TransferEngine engine = TransferEngine::sm;
    // SMs that it holds by default; 0 with engine sm: as many as NCCL has channels.
    std::uint32_t sms = 0;
    // SMs per channel: with two, one sends and the other receives; a single one also sums.
    std::uint32_t channel_sms = 1;
    double row_us = 0;             // time of a channel per row, besides its bytes
    std::uint32_t row_header = 0;  // bytes beside a row on the wire
    // Bytes beside a dispatched row for each expert of the server: the probabilities.
    std::uint32_t expert_bytes = 0;
    // Between servers without measured congestion: the fraction of the NICs' rate that its messages
    // reach. A call takes network_us in addition, from the first message to the last flag.
    double network_share = 1;
    double network_us = 0;
    // Barriers of a call: all ranks of a server add to one flag in turn, and wait for it.
    std::uint32_t barriers = 0;
    bool host_sync = false;   // the host needs the counts before it allocates memory
    bool copies_out = false;  // rows are copied between the library's buffer and tensors
    // Launches of a framework per call: counts or layout, their exchange, the kernel itself.
    std::uint32_t dispatch_calls = 1;
    std::uint32_t combine_calls = 1;
};

// alltoall, allgather, hierarchical, 2dh, deepep, deepep_low_latency, hybridep, host_driven.
std::span<const Dispatcher> dispatchers();
const Dispatcher* find_dispatcher(std::string_view name);
// The entry by its number from 1 (RowExchange::dispatcher); null: none.
const Dispatcher* numbered_dispatcher(std::uint8_t number);

}  // namespace orrery
