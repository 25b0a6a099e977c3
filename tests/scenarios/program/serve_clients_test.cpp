// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "scenarios/format/read/reader.h"
#include "scenarios/program/serve.h"

namespace orrery {
namespace {

// Answers to clients are tested with the whole program and in tests/runtime/serve.
TEST(ServeClients, AnAddressWithoutAPortIsToldBeforeAnything) {
    const auto scenario =
        read_scenario(ORRERY_SOURCE_DIR "/scenarios/serve-tiny-cpu.yaml", {.serving = true});
    ASSERT_TRUE(scenario);
    const auto instances = real_instances(*scenario, nullptr);
    ASSERT_TRUE(instances);
    ServeArguments arguments;
    arguments.listen = "localhost";
    const auto served = serve_clients(arguments, *scenario, *instances);
    ASSERT_FALSE(served);
    EXPECT_EQ(served.error().where, "--listen");
}

}  // namespace
}  // namespace orrery
