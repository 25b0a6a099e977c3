// SPDX-License-Identifier: Apache-2.0
#include "network/simgrid/simgrid.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(Simgrid, IsThereOrSaysWhyNot) {
    const Result<void> checked = check_simgrid();
    EXPECT_EQ(checked.has_value(), has_simgrid());
    const std::vector<LinkInfo> links{{.capacity = Bandwidth::bytes_per_second(1000)}};
    EXPECT_EQ(make_simgrid_rates(links) != nullptr, has_simgrid());
    if (!checked) {
        EXPECT_EQ(checked.error().where, "liborrery_simgrid.so");
    }
}

}  // namespace
}  // namespace orrery
