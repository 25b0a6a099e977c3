// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/router_node.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/segments/lanes.h"
#include "tests/models/lowered_experts.h"

namespace orrery {
namespace {

constexpr std::string_view kRead = "host reads tokens of experts";

std::vector<std::string> names_of_forward(const Program& program) {
    std::vector<std::string> names;
    for (const Op& op : program.segment_of(program.roles[0].slots[0]).ops) {
        names.push_back(program.names[op.name]);
    }
    return names;
}

// Rows are already being copied when the host asks how many there are.
TEST(HostRead, IsRightBeforeTheExchange) {
    const std::vector<std::string> names =
        names_of_forward(verified(small_experts(), four_ranks()));
    const auto read = std::ranges::find(names, kRead);
    ASSERT_GT(read - names.begin(), 1);
    ASSERT_NE(read, names.end());
    EXPECT_EQ(*(read - 1), "permute");
    EXPECT_EQ(*(read + 1), "dispatch");
}

TEST(HostRead, WaitsOnTheStreamOfExchanges) {
    const Transformer model = small_experts();
    for (const TokenDispatcher by : {TokenDispatcher::alltoall, TokenDispatcher::hybridep}) {
        ParallelPlan plan = four_ranks();
        plan.moe_token_dispatcher_type = by;
        const Program program = verified(model, plan);
        EXPECT_EQ(count_ops(program, kRead), model.num_layers * plan.num_micro_batches());
        for_each_op(program, program.roles[0], [&](const Slot&, const Op& op) {
            if (program.names[op.name] == kRead) {
                EXPECT_EQ(op.stream, kExpertStream);
                EXPECT_EQ(op.num_operands, 1U);
            }
        });
    }
}

TEST(HostRead, IsNotThereIfTheHostNeedsNoCounts) {
    const Transformer model = small_experts();
    ParallelPlan plan = four_ranks();
    plan.moe_token_dispatcher_type = TokenDispatcher::host_driven;
    EXPECT_EQ(count_ops(verified(model, plan), kRead), 0);
    plan.moe_token_dispatcher_type = TokenDispatcher::hybridep;
    plan.cuda_graphs = true;  // with room for as many rows as there may be
    EXPECT_EQ(count_ops(verified(model, plan), kRead), 0);
}

// Megatron-Core's drop_and_pad: the host knows all numbers of rows, and no counts travel.
TEST(HostRead, IsNotThereIfExpertsAreFilledUp) {
    const Transformer model = small_experts();
    ParallelPlan plan = four_ranks();
    plan.moe_expert_capacity_factor = 1;
    const Program drops = verified(model, plan);
    EXPECT_EQ(count_ops(drops, kRead), model.num_layers * plan.num_micro_batches());
    plan.moe_pad_expert_input_to_capacity = true;
    const Program pads = verified(model, plan);
    EXPECT_EQ(count_ops(pads, kRead), 0);
    EXPECT_EQ(count_ops(pads, "tokens of experts"), 0);
    EXPECT_EQ(count_ops(pads, "tokens of experts gather"), 0);
}

// HybridEP's dispatch gathers the map of tokens and makes places of it before the host reads; its
// combine and both backward exchanges keep the places.
TEST(RoutingMap, IsGatheredBeforeAForwardDispatch) {
    const Transformer model = small_experts();
    ParallelPlan plan = four_ranks();
    EXPECT_EQ(count_ops(verified(model, plan), "map of tokens gather"), 0);
    plan.moe_token_dispatcher_type = TokenDispatcher::deepep;
    EXPECT_EQ(count_ops(verified(model, plan), "map of tokens gather"), 0);
    plan.moe_token_dispatcher_type = TokenDispatcher::hybridep;
    const Program program = verified(model, plan);
    EXPECT_EQ(count_ops(program, "map of tokens gather"), count_ops(program, "dispatch"));
    const std::vector<std::string> names = names_of_forward(program);
    const auto gather = std::ranges::find(names, "map of tokens gather");
    ASSERT_GT(names.end() - gather, 3);
    EXPECT_EQ(*(gather + 1), "places of rows");
    EXPECT_EQ(*(gather + 2), kRead);
    EXPECT_EQ(*(gather + 3), "dispatch");
    const Op& op = program.segment_of(program.roles[0].slots[0])
                       .ops[static_cast<std::size_t>(gather - names.begin())];
    EXPECT_EQ(program.collective(op).bytes.count(),
              4 * model.seq_length * plan.micro_batch_size * model.num_experts);
    plan.cuda_graphs = true;  // without the host
    EXPECT_EQ(count_ops(verified(model, plan), "map of tokens gather"),
              count_ops(program, "dispatch"));
}

// The calls of the choice of experts in one forward pass and in one backward pass.
std::pair<int, int> calls_of_choice(const ParallelPlan& plan) {
    const Program program = verified(small_experts(), plan);
    std::pair<int, int> calls;
    for_each_op(program, program.roles[0], [&](const Slot&, const Op& op) {
        calls.first = program.names[op.name] == "router choice" ? op.launches : calls.first;
        calls.second =
            program.names[op.name] == "router choice backward" ? op.launches : calls.second;
    });
    return calls;
}

TEST(RouterNode, ACapacityTakesOperators) {
    ParallelPlan plan = four_ranks();
    const auto [forward, backward] = calls_of_choice(plan);
    plan.moe_expert_capacity_factor = 1;
    EXPECT_EQ(calls_of_choice(plan), std::pair(forward + 6, backward + 1));
    plan.moe_pad_expert_input_to_capacity = true;  // one mask
    EXPECT_EQ(calls_of_choice(plan), std::pair(forward + 5, backward + 1));
}

}  // namespace
}  // namespace orrery
