// SPDX-License-Identifier: Apache-2.0
// What the executor reports of a whole run. The rules of engine/world/simulation.h, by hand:
// stream_runner_test, kernel_runner_test and transfer_runner_test.
#include "engine/world/simulated_executor.h"

#include <gtest/gtest.h>

#include "tests/engine/small_runs.h"

namespace orrery {
namespace simulated_executor_test {

using namespace small_runs;

TEST(SimulatedExecutor, CountsBytesOverLinks) {
    ProgramBuilder b({{"pp", 2}});
    b.role(0).exchange({send(20)});
    b.exchange({send(20)});
    b.kernel(80_ns);
    b.role(1).exchange({receive(20)});
    b.exchange({receive(20)});
    const ScriptedNetwork network = two_ranks();
    SimulationInput input = b.input(network);
    input.steps = 3;
    const SimulationResult result = run(input);
    EXPECT_EQ(result.iteration, 80_ns);
    EXPECT_DOUBLE_EQ(result.link_class_utilisation_max.at(0), 0.5);
}

TEST(SimulatedExecutor, RefusesAMalformedProgram) {
    ProgramBuilder b({{"pp", 2}});
    b.role(0).exchange({send(20)});
    const ScriptedNetwork network = two_ranks();
    const SimulationInput input = b.input(network);
    NaiveRates rates(network.links());
    EXPECT_FALSE(simulate(input, rates).has_value());
}

}  // namespace simulated_executor_test
}  // namespace orrery
