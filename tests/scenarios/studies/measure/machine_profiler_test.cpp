// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/measure/machine_profiler.h"

#include <gtest/gtest.h>

#include "tests/test_folder.h"

namespace orrery {
namespace {

std::string error_of(const ProfileSpec& spec) {
    const auto measured = profile_machine(spec, [](double) {});
    return measured ? "" : measured.error().front().to_string();
}

// What it measures is tested with the whole program (tests/program): it starts itself again.
TEST(MachineProfiler, ReportsWhatCannotBeMeasuredAndLeavesNothingBehind) {
    const TestFolder folder;
    ProfileSpec spec{.device = "tpu", .output = (folder / "p.csv").string()};
    EXPECT_NE(error_of(spec).find("'tpu' is no kind of device"), std::string::npos);
    spec.device = "cuda";
    EXPECT_NE(error_of(spec).find("no CUDA device"), std::string::npos);
    spec.device = "cpu";
    spec.scenario = (folder / "none.yaml").string();
    EXPECT_NE(error_of(spec).find("none.yaml"), std::string::npos);
    spec.output = (folder / "none/p.csv").string();
    EXPECT_NE(error_of(spec).find("none/p.csv"), std::string::npos);
    EXPECT_EQ(folder.num_files(), 0U);
}

}  // namespace
}  // namespace orrery
