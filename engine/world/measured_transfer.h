// SPDX-License-Identifier: Apache-2.0
// A measured message or collective between devices of one node. A profile (kernels/profile.h)
// stores them, and network/measured_network.h predicts from them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/base/units.h"
#include "engine/program/program.h"

namespace orrery {

enum class TransferKind : std::uint8_t {
    all_reduce,  // collectives in the order of CollectiveKind
    all_gather,
    reduce_scatter,
    all_to_all,
    broadcast,
    send_recv,
};
inline constexpr std::size_t kNumTransferKinds = 6;

constexpr TransferKind transfer_kind(CollectiveKind kind) {
    return static_cast<TransferKind>(kind);
}
std::string_view name(TransferKind kind);
std::optional<TransferKind> transfer_named(std::string_view name);

struct MeasuredTransfer {
    TransferKind kind = TransferKind::all_reduce;
    Dtype wire = Dtype::fp32;
    Bytes bytes;              // as CollectiveCall::bytes; of a message, its size
    std::uint32_t ranks = 2;  // ranks of the group
    Time median;              // from the arrival of the last rank to the end on a rank
    double spread = 0;        // relative: interquartile range / (1.35 median)
    std::int64_t samples = 1;
    bool operator==(const MeasuredTransfer&) const = default;
};

}  // namespace orrery
