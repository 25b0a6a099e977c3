// SPDX-License-Identifier: Apache-2.0
// One transfer as a question to the network: a collective of a group, a message between two ranks,
// or a copy between two memory tiers of a rank. NetworkModel::plan lays it on links.
// engine/world/transfers.h has all transfers of a program with their plans.
#pragma once

#include <cstdint>
#include <variant>

#include "engine/base/units.h"
#include "engine/program/program.h"

namespace orrery {

// A message from the first member to the second, on a communicator of `ranks` members.
struct SendCall {
    Bytes bytes;
    std::uint32_t ranks = 2;
    bool operator==(const SendCall&) const = default;
};

// Members: of a collective, its group in ascending rank order; of a send, sender and receiver; of a
// copy, its rank.
using TransferCall = std::variant<CollectiveCall, SendCall, CopyCall>;

// The bytes as each kind of call counts them.
inline Bytes bytes_of(const TransferCall& call) {
    return std::visit([](const auto& any) { return any.bytes; }, call);
}

}  // namespace orrery
