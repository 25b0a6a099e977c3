// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/trace/run_trace.h"

#include <gtest/gtest.h>

#include "tests/scenarios/made_up_run.h"

namespace orrery {
namespace {

std::size_t count(const std::string& text, const std::string& what) {
    std::size_t n = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
        ++n;
    }
    return n;
}

// Of every rank a predicted and a measured process; names of ops are interned once for both.
TEST(RunTrace, HasThePredictionAboveTheMeasurementOfEveryRank) {
    const TestFolder folder;
    write_made_up_run(folder, 2, 1.2);
    const auto run = read_recorded_run(folder / "run");
    ASSERT_TRUE(run);
    const std::string file = (folder / "trace").string();
    ASSERT_TRUE(write_run_trace(file, *run, ""));
    const std::string trace = folder.text("trace");
    for (const char* rank : {"rank 0 (pp 0)", "rank 1 (pp 0)"}) {
        EXPECT_EQ(count(trace, std::string{rank} + " predicted"), 1U);
        EXPECT_EQ(count(trace, std::string{rank} + " measured"), 1U);
    }
    EXPECT_FALSE(write_run_trace((folder / "none/trace").string(), *run, ""));
    EXPECT_FALSE(write_run_trace(file, *run, "none.csv"));
}

}  // namespace
}  // namespace orrery
