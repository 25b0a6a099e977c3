// SPDX-License-Identifier: Apache-2.0
// All-to-alls of rows that cross between servers in few long messages
// (network/collectives/dispatcher.h). The result is the same as that of one all-to-all.
//
//   two steps  inside each server to the rank with the receiver's local index, then between equal
//              local indices (Tutel's 2DH, Hwang et al., MLSys 2023, section 3.4)
//   leaders    to the first rank of each server, between first ranks, then to the receiver
//   (HetuMoE,
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

// The distribution of a communicator's members: `ranks` on each of `servers`, in the order of
// servers.
struct ServersOfMembers {
    std::uint32_t servers = 1;
    std::uint32_t ranks = 1;
    bool several() const { return servers > 1 && ranks > 1; }
};
// `members` are ranks in order, and `ranks_of_node` consecutive ranks share a node. No value if
// nodes have different numbers of members.
std::optional<ServersOfMembers> servers_of(std::span<const std::uint32_t> members,
                                           std::uint32_t ranks_of_node);

// The communicators of one member: with the members of its server, and with the members that have
// its local index.
struct ServerCommunicators {
    Communicator inside;
    Communicator across;
};

enum class ServerRoute : std::uint8_t { two_steps, leaders };

// The same result as Communicator::all_to_all_parts() of all members.
Result<void> exchange_by_servers(ServerRoute route,
                                 ServerCommunicators& by,
                                 ConstTensorView in,
                                 std::span<const std::int64_t> sent,
                                 TensorView out,
                                 std::span<const std::int64_t> received);

}  // namespace orrery
