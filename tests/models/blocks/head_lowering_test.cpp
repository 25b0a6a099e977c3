// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/head_lowering.h"

#include <gtest/gtest.h>

#include "tests/models/lowered_experts.h"

namespace orrery {
namespace {

TEST(HeadLowering, StandsBehindTheLastLayerOfTheLastStage) {
    ParallelPlan plan{.pipeline_model_parallel_size = 2, .global_batch_size = 2};
    const Program program = verified(small_experts(), plan);
    const auto heads = [&](std::size_t role) {
        std::int64_t count = 0;
        for_each_op(program, program.roles[role], [&](const Slot&, const Op& op) {
            count += program.names[op.name] == "logits" ? 1 : 0;
        });
        return count;
    };
    EXPECT_EQ(heads(0), 0);
    EXPECT_EQ(heads(1), 2);  // once a micro-batch
}

}  // namespace
}  // namespace orrery
