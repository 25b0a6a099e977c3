// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/sweep/mpi_world.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace orrery {
namespace {

class MpiWorldJoin : public ::testing::Test {
protected:
    MpiWorldJoin() { clear(); }
    ~MpiWorldJoin() override { clear(); }

private:
    static void clear() {
        for (const char* name :
             {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "SLURM_STEP_NUM_TASKS"}) {
            unsetenv(name);
        }
    }
};

TEST_F(MpiWorldJoin, WithoutALauncherThereIsNone) {
    const auto world = MpiWorld::join();
    ASSERT_TRUE(world);
    EXPECT_EQ(*world, nullptr);
}

TEST_F(MpiWorldJoin, ProcessesThatCannotKnowOfEachOtherAreRefused) {
    setenv("SLURM_STEP_NUM_TASKS", "4", 1);
    const auto world = MpiWorld::join();
    ASSERT_FALSE(world);
    EXPECT_NE(world.error().hint.find("--mpi=pmix"), std::string::npos);
}

}  // namespace
}  // namespace orrery
