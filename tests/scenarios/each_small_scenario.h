// SPDX-License-Identifier: Apache-2.0
// Tests of every small scenario. ctest starts the program once for each case, and the program names
// all cases then: only the scenario that is tested is read.
#pragma once

#include <gtest/gtest.h>

#include "tests/scenarios/small_scenarios.h"

namespace orrery {

class EachSmallScenario : public ::testing::TestWithParam<SmallScenario> {
protected:
    const Scenario scenario = small_scenario(GetParam().name, GetParam().settings);
};

}  // namespace orrery
