// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/scenarios/sections.h"

namespace orrery {
namespace {

TEST(ReadDetection, KeepsWhatIsNotGiven) {
    DetectionSpec spec;
    spec.heartbeat = WallTime::seconds(7);
    Errors errors;
    read_detection(section_of("{node_agent: false}"), "detection", spec, errors);
    EXPECT_TRUE(errors.empty());
    EXPECT_FALSE(spec.node_agent);
    EXPECT_EQ(spec.heartbeat, WallTime::seconds(7));
}

TEST(ReadDetection, ATimeoutOfNothingIsAnError) {
    DetectionSpec spec;
    Errors errors;
    read_detection(section_of("{collective_timeout: 0 s}"), "detection", spec, errors);
    ASSERT_EQ(errors.size(), 1u);
    EXPECT_NE(errors[0].what.find("too short"), std::string::npos);
    read_detection(section_of("[1]"), "detection", spec, errors);
    EXPECT_EQ(errors.size(), 2u);
}

}  // namespace
}  // namespace orrery
