// SPDX-License-Identifier: Apache-2.0
// Calls of workflows, on instances whose steps all take as long as their first sequence says.
#include <gtest/gtest.h>

#include "engine/serving/batching_rules.h"
#include "engine/serving/serving_run.h"

namespace orrery {
namespace {

using namespace literals;

class WorkflowCost : public StepCost {
public:
    explicit WorkflowCost(Time step) : step_(step) {}
    void times(const Batch&, std::vector<Time>& stages) override { stages.front() = step_; }

private:
    Time step_;
};

Request workflow_call(std::uint32_t workflow, std::uint32_t stage, Time arrival = {}) {
    return {.arrival = arrival,
            .prompt_tokens = 4,
            .output_tokens = 2,
            .workflow = workflow,
            .stage = stage};
}

ServingPool workflow_pool(StepCost& cost, std::size_t instances = 1, std::int64_t sequences = 8) {
    ServingPool pool;
    pool.num_instances = instances;
    pool.rules = *find_batching_rules("vllm_v1");
    pool.limits.num_blocks = 100;
    pool.limits.max_num_seqs = sequences;
    pool.cost = &cost;
    return pool;
}

// Two tokens a call, 10 ms each: stages end at 20, 40 and 60 ms.
TEST(ServingWorkflows, AStageBeginsWhenAllCallsBeforeItHaveEnded) {
    WorkflowCost cost{10_ms};
    const std::vector<Request> calls{
        workflow_call(1, 0), workflow_call(1, 1), workflow_call(1, 1), workflow_call(1, 2)};
    const auto router = make_request_router("least_requests", 0);
    const ServingResult served = serve(calls, {}, workflow_pool(cost), *router);
    EXPECT_EQ(served.records[0].last_token, 20_ms);
    EXPECT_EQ(served.records[1].arrival, 20_ms);
    EXPECT_EQ(served.records[2].last_token, 40_ms);
    EXPECT_EQ(served.records[3].arrival, 40_ms);
    EXPECT_EQ(served.end, 60_ms);
    // Little's law: 20 ms of one call, 20 ms of two, 20 ms of one.
    EXPECT_EQ(served.request_picoseconds, static_cast<__int128>((80_ms).picoseconds()));
}

// With room for one sequence, the second stage of the first workflow goes before the other's first.
TEST(ServingWorkflows, ADeadlineOrdersTheQueue) {
    WorkflowCost cost{10_ms};
    const std::vector<Request> calls{
        workflow_call(1, 0), workflow_call(2, 0), workflow_call(3, 0), workflow_call(1, 1)};
    ServingPool pool = workflow_pool(cost, 1, 1);
    const auto first = [&] {
        const auto router = make_request_router("least_requests", 0);
        return serve(calls, {}, pool, *router).records[3].last_token;
    };
    EXPECT_EQ(first(), 80_ms);
    pool.limits.order = QueueOrder::deadline;
    EXPECT_EQ(first(), 40_ms);
}

// A call that never fits takes the rest of its workflow with it, and no other.
TEST(ServingWorkflows, ARefusedCallEndsItsWorkflow) {
    WorkflowCost cost{10_ms};
    std::vector<Request> calls{workflow_call(1, 0),
                               workflow_call(2, 0),
                               workflow_call(1, 1),
                               workflow_call(1, 2),
                               workflow_call(2, 1)};
    calls[2].prompt_tokens = 1'000'000;
    const auto router = make_request_router("least_requests", 0);
    const ServingResult served = serve(calls, {}, workflow_pool(cost), *router);
    EXPECT_TRUE(served.records[0].finished());
    EXPECT_TRUE(served.records[2].refused);
    EXPECT_TRUE(served.records[3].refused);
    EXPECT_TRUE(served.records[4].finished());
}

// The second instance takes three times as long: of four requests at once it gets one.
TEST(ServingWorkflows, TheEarliestEndSparesSlowInstances) {
    WorkflowCost fast{10_ms};
    WorkflowCost slow{30_ms};
    ServingPool pool = workflow_pool(fast, 2);
    pool.instances = {{.cost = &fast, .num_blocks = 100},
                      {.cost = &slow, .num_blocks = 50, .relative_time = 3}};
    const std::vector<Request> requests(8, Request{.prompt_tokens = 4, .output_tokens = 2});
    const auto slow_ones = [&](const char* name) {
        const auto router = make_request_router(name, 0);
        const ServingResult served = serve(requests, {}, pool, *router);
        return served.instances[1].computed_tokens;
    };
    EXPECT_GT(slow_ones("round_robin"), 0);
    EXPECT_LT(slow_ones("earliest_end"), slow_ones("round_robin"));
}

// A request must fit wherever it may be sent.
TEST(ServingWorkflows, WhatTheSmallestInstanceCannotHoldIsRefused) {
    WorkflowCost cost{10_ms};
    ServingPool pool = workflow_pool(cost, 2);
    pool.instances = {{.cost = &cost, .num_blocks = 100}, {.cost = &cost, .num_blocks = 2}};
    const std::vector<Request> requests{{.prompt_tokens = 100, .output_tokens = 2}};
    const auto router = make_request_router("round_robin", 0);
    EXPECT_TRUE(serve(requests, {}, pool, *router).records[0].refused);
}

}  // namespace
}  // namespace orrery
