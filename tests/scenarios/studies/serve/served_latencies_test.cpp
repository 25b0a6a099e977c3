// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/served_latencies.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

using namespace literals;

// Two workflows of two stages: their first calls, then the later ones.
std::vector<Request> workflow_calls() {
    return {
        {.workflow = 1}, {.workflow = 2}, {.workflow = 1, .stage = 1}, {.workflow = 2, .stage = 1}};
}

TEST(ServedLatencies, AWorkflowEndsWithItsLastCall) {
    ServingResult served;
    served.records = {{.arrival = 0_ms, .last_token = 10_ms},
                      {.arrival = 5_ms, .last_token = 20_ms},
                      {.arrival = 10_ms, .last_token = 40_ms},
                      {}};
    const auto times = end_to_end_times(served, workflow_calls());
    EXPECT_EQ(times[0], 40_ms);
    EXPECT_EQ(times[2], 40_ms);
    EXPECT_EQ(times[1], Time::max());  // its second call never ended
    EXPECT_FALSE(ends_workflow(workflow_calls(), 0));
    EXPECT_TRUE(ends_workflow(workflow_calls(), 2));
    EXPECT_TRUE(ends_workflow(workflow_calls(), 3));
    EXPECT_TRUE(ends_workflow({{.workflow = 1}, {.workflow = 1}}, 1));
    EXPECT_TRUE(ends_workflow({{}, {}}, 0));
}

TEST(ServedLatencies, WhatDoesNotKnowWorkflowsIsAnError) {
    ServingSpec spec;
    EXPECT_TRUE(check_workflows(spec, workflow_calls(), {}));
    EXPECT_FALSE(check_workflows(spec, workflow_calls(), {.users = 2}));
    spec.objectives.e2e_slowdown.p50 = 2;
    EXPECT_FALSE(check_workflows(spec, workflow_calls(), {}));
    spec = {};
    spec.engine.queue_order = QueueOrder::deadline;
    EXPECT_TRUE(check_workflows(spec, workflow_calls(), {}));
    EXPECT_FALSE(check_workflows(spec, {{}}, {}));
}

}  // namespace
}  // namespace orrery
