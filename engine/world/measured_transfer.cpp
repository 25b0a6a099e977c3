// SPDX-License-Identifier: Apache-2.0
#include "engine/world/measured_transfer.h"

namespace orrery {

std::string_view name(TransferKind kind) {
    return kind == TransferKind::send_recv ? std::string_view{"send_recv"}
                                           : name(static_cast<CollectiveKind>(kind));
}

std::optional<TransferKind> transfer_named(std::string_view text) {
    for (std::size_t i = 0; i < kNumTransferKinds; ++i) {
        if (name(static_cast<TransferKind>(i)) == text) {
            return static_cast<TransferKind>(i);
        }
    }
    return std::nullopt;
}

}  // namespace orrery
