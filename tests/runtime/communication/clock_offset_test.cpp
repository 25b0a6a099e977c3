// SPDX-License-Identifier: Apache-2.0
#include "runtime/communication/clock_offset.h"

#include "tests/runtime/communication/local_ranks.h"

namespace orrery {
namespace {

// Processes of one machine have one clock: exactly zero, not a measured nearly nothing.
TEST(ClockOffset, OfOneHostIsZeroOnEveryRank) {
    run_as_ranks(3, [](std::unique_ptr<Transport> transport) {
        const Result<std::int64_t> offset = clock_offset_ns(*transport);
        ASSERT_TRUE(offset) << offset.error().to_string();
        EXPECT_EQ(*offset, 0);
    });
}

}  // namespace
}  // namespace orrery
