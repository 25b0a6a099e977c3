// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/listed_moves.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "engine/program/verifier.h"
#include "models/lowering/lowering.h"
#include "tests/models/known_models.h"

namespace orrery {
namespace {

// Products of 262,144 elements and more.
Transformer model_of_lists() {
    Transformer model = gpt(2, 512, 8, 64, 1024);
    model.tied_embeddings = false;
    return model;
}

ParallelPlan plan_of_lists(std::int64_t ranks) {
    ParallelPlan plan{.data_parallel_size = ranks,
                      .data_parallel_sharding_strategy = ShardingStrategy::optim_grads_params,
                      .global_batch_size = ranks,
                      .overlap_param_gather = true};
    plan.fsdp_unit_layers = 0;
    plan.fsdp_copy_out = true;
    return plan;
}

// What a pass of the only stage does for its lists.
struct ListWork {
    Time host;
    std::int64_t kernels = 0;
    std::int64_t collectives = 0;
    std::int64_t moved = 0;  // bytes of these kernels
};

ListWork work_of_lists(const ParallelPlan& plan, std::string_view pass) {
    const Program program = lower(model_of_lists(), plan);
    EXPECT_TRUE(verify(program).empty());
    ListWork work;
    for (const Segment& segment : program.segments) {
        for (const Op& op : segment.ops) {
            const std::string_view name = program.names[op.name];
            if (!segment.name.ends_with(pass)) {
                continue;
            }
            if (name == "weights in parts" || name == "gradients in parts") {
                work.host += program.host_work(op).duration;
            } else if (name == "weights zeros" || name == "gradients averaged" ||
                       name == "gradients copy in") {
                ++work.kernels;
                work.moved += program.kernel(op).bytes;
            } else if (name == "weights gather" || name == "gradients scatter") {
                ++work.collectives;
            }
        }
    }
    return work;
}

TEST(ListedMoves, TakeTheHostsTimeForEachRanksPart) {
    ParallelPlan plan = plan_of_lists(8);
    const ListWork eight = work_of_lists(plan, "forward");
    EXPECT_EQ(eight.host, Time::picoseconds(5'000'000) * (4 * 8 * eight.collectives));
    EXPECT_EQ(work_of_lists(plan_of_lists(16), "forward").host, eight.host * 2);
    plan.fsdp_unit_layers = 1;  // one collective into one buffer
    EXPECT_EQ(work_of_lists(plan, "forward").host, Time{});
    plan = plan_of_lists(8);
    plan.fsdp_copy_out = false;
    EXPECT_EQ(work_of_lists(plan, "forward").host, Time{});
}

// Zeros are written before a gather; gradients are divided in place and copied before a reduction.
TEST(ListedMoves, PassOverAllElements) {
    const ListWork forward = work_of_lists(plan_of_lists(8), "forward");
    const ListWork backward = work_of_lists(plan_of_lists(8), "backward");
    EXPECT_EQ(forward.kernels, forward.collectives);
    const std::int64_t reductions = backward.collectives - forward.collectives;
    EXPECT_EQ(backward.kernels, forward.collectives + 2 * reductions);
    // 2 bytes an element are written; of fp32 gradients, twice 8 bytes are read or written.
    EXPECT_NEAR(static_cast<double>(backward.moved),
                9 * static_cast<double>(forward.moved),
                0.01 * static_cast<double>(backward.moved));
}

// The host waits for the reduction before it handles the next list.
TEST(ListedMoves, WaitForTheReductionBefore) {
    const Program program = lower(model_of_lists(), plan_of_lists(8));
    for (const Segment& segment : program.segments) {
        for (std::size_t i = 0; i + 1 < segment.ops.size(); ++i) {
            if (program.names[segment.ops[i].name] == "gradients scatter") {
                const Op& next = segment.ops[i + 1];
                const auto waits =
                    std::span{program.waits}.subspan(next.first_wait, next.num_waits);
                EXPECT_EQ(std::ranges::count(waits, i), 1) << i;
            }
        }
    }
}

}  // namespace
}  // namespace orrery
