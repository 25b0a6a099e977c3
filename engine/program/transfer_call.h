// SPDX-License-Identifier: Apache-2.0
// One transfer as the network is asked about it: a collective of a group, a message from one rank
// to another, or a copy between two memory tiers of one rank. NetworkModel::plan lays it on links.
// The transfers of a whole program, each with its plan, are in engine/world/transfers.h.
#pragma once

#include <variant>

#include "engine/base/units.h"
#include "engine/program/program.h"

namespace orrery {

// From the first member to the second one.
struct SendCall {
    Bytes bytes;
    bool operator==(const SendCall&) const = default;
};

// The members of a collective are its group in ascending rank order; of a send, sender and
// receiver; of a copy, its rank.
using TransferCall = std::variant<CollectiveCall, SendCall, CopyCall>;

// As each call counts its own.
inline Bytes bytes_of(const TransferCall& call) {
    return std::visit([](const auto& any) { return any.bytes; }, call);
}

}  // namespace orrery
