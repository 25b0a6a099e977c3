// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/trace/chrome_trace.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "models/lowering/lowering.h"
#include "scenarios/studies/measure/predicted_run.h"
#include "tests/scenarios/small_scenarios.h"

namespace orrery {
namespace {

TEST(ChromeTrace, HasEveryOpOfTheStepWithItsTimes) {
    const Scenario scenario = small_scenario("tp", {"plan.tensor_model_parallel_size=4"});
    const auto run = predict_run(scenario, "");
    ASSERT_TRUE(run);
    std::ostringstream out;
    write_chrome_trace(out, lower(scenario.model, scenario.plan), run->ops);
    const auto json = nlohmann::json::parse(out.str());
    std::size_t slices = 0;
    std::size_t waits = 0;
    double last = 0;
    for (const auto& event : json["traceEvents"]) {
        if (event["ph"] == "X") {
            (event["name"] == "wait for peers" ? waits : slices) += 1;
            last = std::max(last, event["ts"].get<double>() + event["dur"].get<double>());
        }
    }
    EXPECT_EQ(slices, run->ops.size());
    Time end;
    std::size_t waited = 0;
    for (const TracedOp& op : run->ops) {
        end = std::max(end, op.end);
        waited += op.data_start > op.start ? 1 : 0;
    }
    EXPECT_EQ(waits, waited);
    EXPECT_NEAR(last, end.microseconds(), 1e-5);
}

}  // namespace
}  // namespace orrery
