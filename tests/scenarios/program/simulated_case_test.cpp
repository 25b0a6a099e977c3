// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "scenarios/program/simulate.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

TEST(SimulatedCase, IsAFileOrAResultAndNotBoth) {
    SimulateArguments arguments;
    EXPECT_EQ(simulated_case(arguments).error().front().what, "a scenario file is missing");
    arguments.file = ORRERY_SOURCE_DIR "/scenarios/laptop-2gpu.yaml";
    arguments.fold = false;
    const auto simulated = simulated_case(arguments);
    ASSERT_TRUE(simulated);
    EXPECT_EQ(simulated->source, arguments.file);
    const Provenance provenance = provenance_of(arguments, *simulated);
    EXPECT_EQ(provenance.options.front().first, "no_fold");
    arguments.result_file = "result.json";
    EXPECT_FALSE(simulated_case(arguments));
}

}  // namespace
}  // namespace orrery
