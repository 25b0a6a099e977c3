// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/gradient_copies.h"

#include <gtest/gtest.h>

#include "models/lowering/lowering.h"
#include "tests/models/known_models.h"

namespace orrery {
namespace {

std::int64_t copied(const Transformer& model, const ParallelPlan& plan) {
    const Program program = lower(model, plan);
    std::int64_t bytes = 0;
    for (const Segment& segment : program.segments) {
        for (const Op& op : segment.ops) {
            if (program.names[op.name] == "gradients copy in") {
                bytes += program.kernels[index(op.payload.kernel())].bytes;
            }
        }
    }
    return bytes;
}

// fully_shard copies a unit's gradients by one kernel into the buffer and the type of their
// reduction. The older FSDP concatenates them, and casts them if they are reduced in another type.
TEST(GradientCopies, AreOneKernelOfFullyShardAndTwoOfTheOlderFsdp) {
    Transformer model = gpt(6, 128, 8, 64, 512);
    model.tied_embeddings = false;
    const std::int64_t parameters = num_parameters(model);
    ParallelPlan plan{.data_parallel_size = 8,
                      .data_parallel_sharding_strategy = ShardingStrategy::optim_grads_params,
                      .global_batch_size = 8,
                      .gradient_dtype = Dtype::fp32};
    EXPECT_EQ(copied(model, plan), 0);
    plan.gradient_bucket_copies = true;
    EXPECT_EQ(copied(model, plan), (4 + 6) * parameters);
    plan.fsdp_copy_out = true;
    EXPECT_EQ(copied(model, plan), 6 * parameters);
    plan.gradient_dtype = Dtype::bf16;
    EXPECT_EQ(copied(model, plan), 4 * parameters);
    plan.fsdp_copy_out = false;
    EXPECT_EQ(copied(model, plan), 4 * parameters);
    plan.data_parallel_size = 1;
    EXPECT_EQ(copied(model, plan), 0);
}

}  // namespace
}  // namespace orrery
