// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/gradient_copies.h"

#include <gtest/gtest.h>

#include <algorithm>

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

// PyTorch's autograd hands the product over as the parameter's gradient, in the product's type.
// Only a gradient that stays until later micro-batches is a sum.
TEST(GradientCopies, AreOfTheProductsThemselves) {
    const auto sums = [](const Program& program) {
        return std::ranges::count_if(program.names, [](const std::string& name) {
            return name.ends_with("wgrad accumulate");
        });
    };
    Transformer model = gpt(6, 128, 8, 64, 512);
    model.tied_embeddings = false;
    ParallelPlan plan{.data_parallel_size = 8,
                      .data_parallel_sharding_strategy = ShardingStrategy::optim_grads_params,
                      .global_batch_size = 8,
                      .gradient_accumulation_fusion = false,
                      .gradient_dtype = Dtype::fp32,
                      .fsdp_copy_out = true};
    EXPECT_GT(sums(lower(model, plan)), 0);
    plan.gradient_bucket_copies = true;
    const Program program = lower(model, plan);
    EXPECT_EQ(sums(program), 0);
    for (const Tensor& tensor : program.tensors) {
        if (tensor.name.ends_with("weight gradient")) {
            EXPECT_EQ(tensor.dtype, Dtype::bf16) << tensor.name;
        }
    }
    plan.data_parallel_sharding_strategy = ShardingStrategy::optim;
    EXPECT_GT(sums(lower(model, plan)), 0);
}

// The bytes of all tensors of this name.
std::int64_t bytes_named(const Program& program, std::string_view name) {
    std::int64_t bytes = 0;
    for (const Tensor& tensor : program.tensors) {
        bytes += tensor.name == name ? tensor.bytes.count() : 0;
    }
    return bytes;
}

// DeepSpeed's bucket has its size whatever it holds, and lives as long as the optimizer. Parameters
// that it cannot hold are reduced where they are.
TEST(GradientCopies, IntoABucketAreOfTheParametersThatItHolds) {
    Transformer model = gpt(6, 128, 8, 64, 512);
    model.tied_embeddings = false;
    const std::int64_t parameters = num_parameters(model);
    ParallelPlan plan{.data_parallel_size = 8,
                      .data_parallel_sharding_strategy = ShardingStrategy::optim_grads_params,
                      .global_batch_size = 8,
                      .gradient_dtype = Dtype::bf16,
                      .gradient_bucket_copies = true,
                      .reduce_bucket_size = 1'000'000};
    EXPECT_EQ(copied(model, plan), 4 * parameters);
    const Program all = lower(model, plan);
    EXPECT_EQ(bytes_named(all, "gradients together"), 2 * parameters);
    EXPECT_EQ(bytes_named(all, "gradient bucket"), 2 * 1'000'000);
    const auto bucket = std::ranges::find(all.tensors, "gradient bucket", &Tensor::name);
    EXPECT_EQ(bucket->lifetime, Lifetime::persistent);
    // Two matrices of each layer, 128 by 512, and both tables of 512 rows are larger.
    plan.reduce_bucket_size = 512 * 128 - 1;
    const std::int64_t large = (2 * 6 + 2) * 512 * 128;
    EXPECT_EQ(copied(model, plan), 4 * (parameters - large));
}

}  // namespace
}  // namespace orrery
