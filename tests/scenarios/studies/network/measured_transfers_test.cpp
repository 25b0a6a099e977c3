// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/network/measured_transfers.h"

#include <gtest/gtest.h>

#include "tests/test_folder.h"

namespace orrery {
namespace {

TEST(MeasuredTransfers, AreThoseOfTheDevice) {
    const TestFolder folder;
    MachineProfile profile;
    const MeasuredTransfer time{.bytes = Bytes{1 << 20}, .median = Time::seconds(40e-6)};
    profile.transfers.push_back({.device = "h100-80g", .time = time});
    profile.transfers.push_back({.device = "a100-80g", .time = time});
    const std::string file = folder.write("p.csv", profile_csv(profile, "made up\n"));
    const auto rows = measured_transfers(file, "h100-80g");
    ASSERT_TRUE(rows) << rows.error().front().to_string();
    EXPECT_EQ(rows->size(), 1u);
    EXPECT_TRUE(measured_transfers("", "h100-80g")->empty());
    const auto none = measured_transfers(file, "b200");
    ASSERT_FALSE(none);
    EXPECT_NE(none.error().front().what.find("'b200'"), std::string::npos);
}

}  // namespace
}  // namespace orrery
