// SPDX-License-Identifier: Apache-2.0
#include "engine/world/measured_transfer.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(MeasuredTransfer, KindsHaveTheNamesOfTheCollectives) {
    for (std::size_t i = 0; i < kNumTransferKinds; ++i) {
        const auto kind = static_cast<TransferKind>(i);
        EXPECT_EQ(transfer_named(name(kind)), kind);
    }
    for (const CollectiveKind kind : {CollectiveKind::all_reduce, CollectiveKind::broadcast}) {
        EXPECT_EQ(name(transfer_kind(kind)), name(kind));
    }
    EXPECT_EQ(name(TransferKind::send_recv), "send_recv");
    EXPECT_FALSE(transfer_named("gemm"));
}

}  // namespace
}  // namespace orrery
