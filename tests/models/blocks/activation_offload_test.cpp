// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/activation_offload.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "tests/models/long_context_models.h"

namespace orrery {
namespace {

constexpr std::int64_t kInput = 4096 * 256 * 2;  // bytes of a layer's

ParallelPlan offloading(double fraction) {
    return {.recompute_granularity = Recompute::full, .activation_offload_fraction = fraction};
}

TEST(ActivationOffload, TakesEqualPartsOfTheLayers) {
    for (const double fraction : {0.0, 0.25, 0.5, 1.0}) {
        std::int64_t count = 0;
        for (std::int64_t layer = 0; layer < 32; ++layer) {
            count += input_is_offloaded(offloading(fraction), layer) ? 1 : 0;
        }
        EXPECT_EQ(count, static_cast<std::int64_t>(32 * fraction));
    }
}

// L s h bytes of 16 bits move from the device to its host, and back once.
TEST(ActivationOffload, MovesTheKeptInputs) {
    const Transformer model = small_llama(8);
    const Program kept = verified(model, offloading(0));
    const Program moved = verified(model, offloading(1));
    EXPECT_EQ(host_bytes(kept, RoleId{0}), Bytes{});
    EXPECT_EQ(host_bytes(moved, RoleId{0}).count(), 8 * kInput);
    EXPECT_EQ(host_bytes(verified(model, offloading(0.5)), RoleId{0}).count(), 4 * kInput);
    EXPECT_EQ(ops_called(moved, "layer input to host").size(), 8U);
    EXPECT_EQ(ops_called(moved, "layer input from host").size(), 8U);
    EXPECT_EQ(activation_peak(kept) - activation_peak(moved), 7 * kInput);
}

// The layer's first kernel waits for the copy of its input, which otherwise is beside the layer,
// and for the pages that the host populates: 1.4 GB/s in all, where the copy alone takes 12.6.
TEST(ActivationOffload, TheDeviceMayWaitForTheCopy) {
    ParallelPlan plan = offloading(1);
    const auto waits_for_copies = [&] {
        const Program program = verified(small_llama(4), plan);
        std::ptrdiff_t count = 0;
        for (const Segment& segment : program.segments) {
            for (std::uint32_t i = 1; i < segment.ops.size(); ++i) {
                const Op& op = segment.ops[i];
                if (program.names[segment.ops[i - 1].name] == "pages of the layer input") {
                    count += std::ranges::count(
                        std::span{program.waits}.subspan(op.first_wait, op.num_waits), i - 1);
                }
            }
        }
        return count;
    };
    EXPECT_EQ(waits_for_copies(), 0);
    plan.activation_offload_blocking = true;
    EXPECT_EQ(waits_for_copies(), 4);
    const Program program = verified(small_llama(4), plan);
    ASSERT_EQ(ops_called(program, "pages of the layer input").size(), 4U);
    const Op* pages = ops_called(program, "pages of the layer input").front();
    const Time taken = program.host_works[index(pages->payload.host_work())].duration;
    EXPECT_NEAR(taken.seconds() + kInput / 12.6e9, kInput / 1.4e9, 1e-9);
}

// What comes back waits for the device's kernels, not for gradients on their way to the host.
TEST(ActivationOffload, InputsComeBackBesideGradientsThatLeave) {
    ParallelPlan plan = offloading(1);
    plan.data_parallel_sharding_strategy = ShardingStrategy::optim_grads;
    plan.optimizer_cpu_offload = true;
    plan.grad_offload_tier = StateTier::host;
    plan.overlap_grad_reduce = true;  // otherwise all that follows waits for them
    const Program program = verified(small_llama(4), plan);
    std::size_t copies = 0;
    for (const Segment& segment : program.segments) {
        for (const Op& op : segment.ops) {
            if (program.names[op.name] != "layer input from host") {
                continue;
            }
            ++copies;
            for (std::uint32_t w = op.first_wait; w < op.first_wait + op.num_waits; ++w) {
                EXPECT_NE(segment.ops[program.waits[w]].stream, kStoreStream)
                    << program.names[segment.ops[program.waits[w]].name];
            }
        }
    }
    EXPECT_EQ(copies, 4u);
    EXPECT_FALSE(ops_called(program, "gradients to host").empty());
}

// Each of the tensor-parallel ranks keeps its part of a layer's input, and gathers the whole again
// before the layer runs again (megatron/core/tensor_parallel/random.py, CheckpointFunction).
TEST(ActivationOffload, TensorRanksShareTheKeptInputs) {
    const Transformer model = small_llama(8);
    ParallelPlan plan = offloading(0);
    plan.tensor_model_parallel_size = 4;
    plan.sequence_parallel = false;
    const Program whole = verified(model, plan);
    plan.distribute_saved_activations = true;
    const Program parts = verified(model, plan);
    EXPECT_EQ(bytes_of_tensor(parts, "layer input part"), kInput / 4);
    const std::vector<const Op*> gathers = ops_called(parts, "layer input gather");
    ASSERT_EQ(gathers.size(), 8U);
    EXPECT_EQ(parts.collective(*gathers.front()).kind, CollectiveKind::all_gather);
    EXPECT_EQ(parts.collective(*gathers.front()).bytes.count(), kInput);
    EXPECT_TRUE(ops_called(whole, "layer input gather").empty());
    EXPECT_NEAR(static_cast<double>(activation_peak(whole) - activation_peak(parts)),
                8 * kInput * 0.75,
                kInput);
}

// The host keeps the parts, and not the whole once for each rank.
TEST(ActivationOffload, MovesTheRanksPartsOfInputs) {
    const Transformer model = small_llama(8);
    ParallelPlan plan = offloading(1);
    plan.tensor_model_parallel_size = 4;
    plan.sequence_parallel = false;
    EXPECT_EQ(host_bytes(verified(model, plan), RoleId{0}).count(), 8 * kInput);
    plan.distribute_saved_activations = true;
    const Program parts = verified(model, plan);
    EXPECT_EQ(host_bytes(parts, RoleId{0}).count(), 2 * kInput);
    EXPECT_EQ(ops_called(parts, "layer input to host").size(), 8U);
    EXPECT_EQ(ops_called(parts, "layer input gather").size(), 8U);
}

// Inputs of micro-batches whose backward pass is still to come lie in host memory together.
TEST(ActivationOffload, CountsMicroBatchesInFlight) {
    const Transformer model = small_llama(4);
    ParallelPlan plan = offloading(1);
    plan.pipeline_model_parallel_size = 2;
    plan.global_batch_size = 8;
    const Program program = verified(model, plan);
    EXPECT_EQ(host_bytes(program, RoleId{0}).count(), 2 * 2 * kInput);
    EXPECT_EQ(host_bytes(program, RoleId{1}).count(), 1 * 2 * kInput);
}

// Each offloaded layer is copied once in each direction, and its copy back begins while the layer
// above computes. The last layer stays.
TEST(ActivationOffload, MovesAllThatTheBackwardPassOfTheFirstLayersReads) {
    const Transformer model = small_llama(8);
    const Program kept = verified(model, {});
    Bytes before{};
    for (const std::int64_t layers : {1, 4, 7}) {
        const Program moved = verified(model, {.cpu_offloading_num_layers = layers});
        EXPECT_EQ(ops_called(moved, "activations to host").size(),
                  static_cast<std::size_t>(layers));
        EXPECT_EQ(ops_called(moved, "activations from host").size(),
                  static_cast<std::size_t>(layers));
        const Bytes on_host = host_bytes(moved, RoleId{0});
        EXPECT_GT(on_host, before);
        before = on_host;
    }
    const Program moved = verified(model, {.cpu_offloading_num_layers = 7});
    // On the device are the last layer and the layer that is copied back.
    const std::int64_t of_layer = host_bytes(moved, RoleId{0}).count() / 7;
    EXPECT_GT(activation_peak(kept) - activation_peak(moved), 5 * of_layer);
    EXPECT_LT(activation_peak(kept) - activation_peak(moved), 7 * of_layer);
    EXPECT_DOUBLE_EQ(flop_of(moved, "fc1"), flop_of(kept, "fc1"));
}

// Of a layer with FP8 products, the products keep FP8 copies of their inputs. Attention's backward
// pass reads its output in 16 bits, and the norms' the residuals.
TEST(ActivationOffload, MovesWhatIsReadIn16BitsBesideTheFp8Copies) {
    ParallelPlan plan{.precision = Dtype::fp8};
    plan.cpu_offloading_num_layers = 7;
    const Program moved = verified(small_llama(8), plan);
    const Role& role = moved.roles.front();
    std::map<std::string, int> copied;
    for_each_op(moved, role, [&](const Slot&, const Op& op) {
        if (moved.names[op.name] != "activations to host") {
            return;
        }
        for (std::uint32_t i = 0; i < op.num_operands; ++i) {
            const Operand& operand = moved.operands[op.first_operand + i];
            if (operand.access == Access::read) {
                ++copied[moved.tensors[index(operand.tensor)].name];
            }
        }
    });
    EXPECT_EQ(copied["attention output"], 7);
    EXPECT_EQ(copied["residual"], 2 * 7 - 1);  // the first layer's input is the embedding's output
    EXPECT_EQ(copied["projection cast"], 7);
    EXPECT_EQ(copied["norm 1"], 0);
    EXPECT_EQ(copied["activation"], 0);
}

}  // namespace
}  // namespace orrery
