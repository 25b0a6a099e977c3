// SPDX-License-Identifier: Apache-2.0
// All-to-alls of rows that cross from server to server in few and long messages
// (network/collectives/dispatcher.h): the same rows end in the same places as by one all-to-all.
//
//   two steps  inside each server to the rank of the receiver's local index, then between equal
//              local indices (Tutel's 2DH, Hwang et al., MLSys 2023, section 3.4)
//   leaders    to the first rank of each server, from first rank to first rank, and on (HetuMoE,
//              Nie et al., arXiv 2203.14685, section 3.2)
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/base/result.h"
#include "kernels/tensor_view.h"
#include "runtime/communication/communicator.h"

namespace orrery {

// How the members of a communicator are spread: `ranks` on each of `servers`, one server after the
// other.
struct ServersOfMembers {
    std::uint32_t servers = 1;
    std::uint32_t ranks = 1;
    bool several() const { return servers > 1 && ranks > 1; }
};
// Of members (ranks in order) where `ranks_of_node` ranks share a node; nothing if nodes have
// different numbers of them.
std::optional<ServersOfMembers> servers_of(std::span<const std::uint32_t> members,
                                           std::uint32_t ranks_of_node);

// The communicators of one member: of its server's members, and of the members with its local
// index.
struct ServerCommunicators {
    Communicator inside;
    Communicator across;
};

enum class ServerRoute : std::uint8_t { two_steps, leaders };

// Communicator::all_to_all_parts() of all members.
Result<void> exchange_by_servers(ServerRoute route,
                                 ServerCommunicators& by,
                                 ConstTensorView in,
                                 std::span<const std::int64_t> sent,
                                 TensorView out,
                                 std::span<const std::int64_t> received);

}  // namespace orrery
