// SPDX-License-Identifier: Apache-2.0
// The same scenario gives the same bytes: run after run, wherever it runs, however memory is laid
// out, and whether or not ranks are folded.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "tests/program/run_program.h"

namespace orrery {
namespace {

const std::string kRoot = ORRERY_SOURCE_DIR "/";

// What one run cost the machine is no part of the answer.
std::string without_costs(const std::string& json) {
    static const std::regex cost{R"re("(wall_s|peak_rss_bytes)":\s*[^,}\s]*)re"};
    return std::regex_replace(json, cost, "");
}

std::string answer(const std::string& before, const std::string& scenario) {
    const TestFolder folder;
    const Ran ran = run_shell(
        before + " '" ORRERY_PROGRAM "' simulate " + kRoot + scenario + " --json", folder.path());
    EXPECT_EQ(ran.status, 0) << scenario << "\n" << ran.err;
    return without_costs(ran.out);
}

TEST(SameBits, RunAfterRunAndWhereverItRuns) {
    for (const char* scenario : {"scenarios/laptop-2gpu.yaml", "scenarios/llama3-8b-h100.yaml"}) {
        const std::string first = answer("", scenario);
        EXPECT_NE(first.find("iteration_s"), std::string::npos);
        EXPECT_EQ(first.find("wall_s"), std::string::npos);
        EXPECT_EQ(answer("", scenario), first) << scenario;
        // Another locale and time zone, dirty memory, more environment, more threads.
        EXPECT_EQ(answer("LC_ALL=C.UTF-8 TZ=Asia/Tokyo MALLOC_PERTURB_=165 OMP_NUM_THREADS=2 "
                         "PADDING=xxxxxxxxxxxxxxxxxxxxxxxxx",
                         scenario),
                  first)
            << scenario;
    }
}

TEST(SameBits, FoldingChangesNoFigure) {
    const auto figures = [](const std::string& options) {
        const Ran ran = run_orrery("simulate scenarios/laptop-2gpu.yaml --json" + options);
        EXPECT_EQ(ran.status, 0) << ran.err;
        auto json = nlohmann::json::parse(ran.out, nullptr, false);
        // Bookkeeping of folding itself, and the cost of the run.
        for (const char* key : {"fold_classes",
                                "flows",
                                "distinct_paths",
                                "rate_solves",
                                "simulated_ops",
                                "wall_s",
                                "peak_rss_bytes"}) {
            json.erase(key);
        }
        // The option itself is part of the result's provenance.
        json["provenance"].erase("options");
        return json.dump(1);
    };
    EXPECT_EQ(figures(" --no-fold"), figures(""));
}

}  // namespace
}  // namespace orrery
