// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/simulate/program_order.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(ProgramOrder, IsThatOfCpus) {
    DeviceSpec device;
    device.generation = "cpu";
    EXPECT_TRUE(runs_in_program_order(device));
    device.generation = "hopper";
    EXPECT_FALSE(runs_in_program_order(device));
}

}  // namespace
}  // namespace orrery
