// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/layer_nodes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "models/lowering/lowering.h"
#include "tests/models/known_models.h"

namespace orrery {
namespace {

// The names of the ops of one layer on two tensor-parallel ranks, forward and backward.
std::vector<std::string> names_of_layer(const Transformer& model, ParallelPlan plan) {
    plan.tensor_model_parallel_size = 2;
    const Program program = lower(model, plan);
    std::vector<std::string> names;
    for (const Segment& segment : program.segments) {
        for (const Op& op : segment.ops) {
            names.push_back(program.names[op.name]);
        }
    }
    return names;
}

std::vector<std::string> names_of_layer(bool parallel_block, const ParallelPlan& plan = {}) {
    Transformer model = gpt(1, 128, 8, 64, 512);
    model.parallel_block = parallel_block;
    return names_of_layer(model, plan);
}

std::ptrdiff_t times(const std::vector<std::string>& names, std::string_view name) {
    return std::ranges::count(names, name);
}

// In their order.
std::vector<std::string> only(const std::vector<std::string>& names,
                              const std::vector<std::string>& wanted) {
    std::vector<std::string> found;
    std::ranges::copy_if(names, std::back_inserter(found), [&](const std::string& name) {
        return std::ranges::count(wanted, name) > 0;
    });
    return found;
}

TEST(LayerNodes, ProductsOfOneInputReduceItsGradientOnce) {
    const auto parallel = names_of_layer(true);
    EXPECT_EQ(times(parallel, "fc1 dgrad reduce"), 1);
    EXPECT_EQ(times(parallel, "qkv dgrad reduce"), 0);
    const auto sequential = names_of_layer(false);
    EXPECT_EQ(times(sequential, "fc1 dgrad reduce"), 1);
    EXPECT_EQ(times(sequential, "qkv dgrad reduce"), 1);
}

TEST(LayerNodes, ProductsOfOneSumAreReducedOnce) {
    const auto parallel = names_of_layer(true);
    EXPECT_EQ(times(parallel, "branch reduce"), 1);
    EXPECT_EQ(times(parallel, "projection reduce") + times(parallel, "fc2 reduce"), 0);
    const auto sequential = names_of_layer(false);
    EXPECT_EQ(times(sequential, "projection reduce"), 1);
    EXPECT_EQ(times(sequential, "fc2 reduce"), 1);
}

// Each product's gradients come right before what made its input.
TEST(LayerNodes, RunBackInTheirOrder) {
    const std::vector<std::string> order{
        "fc2 dgrad", "activation backward", "fc1 dgrad", "projection dgrad", "qkv dgrad"};
    EXPECT_EQ(only(names_of_layer(false), order), order);
    EXPECT_EQ(
        only(names_of_layer(true), order),
        (std::vector<std::string>{
            "fc2 dgrad", "activation backward", "projection dgrad", "fc1 dgrad", "qkv dgrad"}));
}

// Gemma 2: the reduced output of each branch is normed before it joins the stream. A checkpoint
// that stops before the last product makes that product's output again, because its norm reads it.
TEST(LayerNodes, OutputsAreNormedBeforeTheyAreAdded) {
    Transformer model = gpt(1, 128, 8, 64, 512);
    model.add_bias_linear = false;
    ParallelPlan plan;
    EXPECT_EQ(times(names_of_layer(model, plan), "fc2 norm"), 0);
    model.sandwich_norm = true;
    const std::vector<std::string> order{"projection",
                                         "projection reduce",
                                         "projection norm",
                                         "norm 2",
                                         "fc2",
                                         "fc2 reduce",
                                         "fc2 norm",
                                         "fc2 norm backward",
                                         "fc2 dgrad",
                                         "norm 2 backward",
                                         "projection norm backward",
                                         "projection dgrad"};
    EXPECT_EQ(only(names_of_layer(model, plan), order), order);
    plan.recompute_granularity = Recompute::full;
    plan.checkpoint_early_stop = true;
    EXPECT_EQ(times(names_of_layer(model, plan), "fc2"), 2);
    EXPECT_EQ(times(names_of_layer(model, plan), "fc2 norm"), 2);
    model.sandwich_norm = false;
    EXPECT_EQ(times(names_of_layer(model, plan), "fc2"), 1);
}

// Weight products that a zero-bubble schedule leaves for later are in a segment of their own.
TEST(LayerNodes, LeaveWeightProductsForLater) {
    const auto now = names_of_layer(false);
    const auto later = names_of_layer(false, {.schedule = ScheduleKind::zero_bubble});
    const auto place = [](const std::vector<std::string>& names, std::string_view name) {
        return std::ranges::find(names, name) - names.begin();
    };
    EXPECT_LT(place(now, "fc2 wgrad"), place(now, "qkv dgrad"));
    EXPECT_GT(place(later, "fc2 wgrad"), place(later, "qkv dgrad"));
    EXPECT_EQ(times(later, "fc2 wgrad"), 1);
}

// The lifetime of the gathered input of Q, K and V.
Lifetime lifetime_of_gathered(ParallelPlan plan) {
    plan.tensor_model_parallel_size = 2;
    const Program program = lower(gpt(1, 128, 8, 64, 512), plan);
    const auto gathered = std::ranges::find_if(
        program.tensors, [](const Tensor& tensor) { return tensor.name == "qkv gather"; });
    EXPECT_NE(gathered, program.tensors.end());
    return gathered->lifetime;
}

// Megatron-LM's function gathers the rows again behind dX; autograd keeps what was gathered.
TEST(LayerNodes, KeepWhatTheyGatheredWithoutMegatronsFunction) {
    const ParallelPlan function{.sequence_parallel = true};
    const ParallelPlan autograd{.sequence_parallel = true,
                                .async_tensor_model_parallel_allreduce = false};
    for (const std::string_view name : {"qkv", "fc1", "logits"}) {
        const std::string gather = std::string{name} + " gather";
        const std::string regather = std::string{name} + " regather";
        EXPECT_EQ(times(names_of_layer(false, function), regather), 1) << name;
        EXPECT_EQ(times(names_of_layer(false, autograd), regather), 0) << name;
        EXPECT_EQ(times(names_of_layer(false, autograd), gather), 1) << name;
    }
    EXPECT_EQ(lifetime_of_gathered(function), Lifetime::slot);
    EXPECT_EQ(lifetime_of_gathered(autograd), Lifetime::micro_batch);
}

// What is recomputed is gathered again with it, and is not kept.
TEST(LayerNodes, GatherAgainOnlyWhatRunsAgain) {
    ParallelPlan plan{.sequence_parallel = true, .async_tensor_model_parallel_allreduce = false};
    plan.recompute_granularity = Recompute::full;
    EXPECT_EQ(times(names_of_layer(false, plan), "qkv gather"), 2);
    EXPECT_EQ(times(names_of_layer(false, plan), "qkv regather"), 0);
    EXPECT_EQ(lifetime_of_gathered(plan), Lifetime::slot);
    plan.recompute_granularity = Recompute::selective;
    plan.recompute_modules = static_cast<std::uint32_t>(RecomputeModule::every_second_projection);
    EXPECT_EQ(times(names_of_layer(false, plan), "qkv gather"), 2);
    EXPECT_EQ(times(names_of_layer(false, plan), "qkv regather"), 0);
    EXPECT_EQ(lifetime_of_gathered(plan), Lifetime::slot);
}

}  // namespace
}  // namespace orrery
