// SPDX-License-Identifier: Apache-2.0
#include "models/segments/host_optimizer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/program/verifier.h"
#include "models/lowering/lowering.h"
#include "models/memory/memory.h"
#include "models/plan/validate_plan.h"
#include "tests/models/known_models.h"

namespace orrery {
namespace {

TEST(HostOptimizer, AWindowHasAsManyTensorsAsFitOrOne) {
    OptimizerOperands all;
    for (const std::int64_t size : {10, 20, 1 << 15, 1 << 15, 1 << 20, 5}) {
        all.sizes.push_back(size);
        all.elements += size;
        all.weights.push_back(to_id<TensorId>(all.weights.size()));
        all.gradients.push_back(to_id<TensorId>(100 + all.gradients.size()));
    }
    std::vector<std::int64_t> elements;
    std::vector<TensorId> weights;
    for (const OptimizerOperands& window : offload_windows(all)) {
        elements.push_back(window.elements);
        weights.insert(weights.end(), window.weights.begin(), window.weights.end());
        EXPECT_EQ(window.gradients.size(), window.weights.size());
    }
    EXPECT_EQ(elements, (std::vector<std::int64_t>{30 + (1 << 15), 1 << 15, 1 << 20, 5}));
    EXPECT_EQ(weights, all.weights);
}

TEST(HostOptimizer, TheHostGetsNoMoreThanItsShareOfAnyRow) {
    OptimizerOperands all;
    for (const std::int64_t size : {100, 10, 10, 40, 40}) {
        all.sizes.push_back(size);
        all.elements += size;
        all.weights.push_back(to_id<TensorId>(all.weights.size()));
        all.gradients.push_back(to_id<TensorId>(100 + all.gradients.size()));
    }
    const auto [host, device] = split_operands(all, 0.5);
    EXPECT_EQ(host.sizes, (std::vector<std::int64_t>{10, 10, 40, 40}));
    EXPECT_EQ(device.sizes, (std::vector<std::int64_t>{100}));
    EXPECT_EQ(host.elements + device.elements, all.elements);
    EXPECT_EQ(split_operands(all, 1).second.elements, 0);
    EXPECT_EQ(split_operands(all, 0).first.elements, 0);
}

ParallelPlan offload_plan(OffloadTier tier) {
    ParallelPlan plan{.data_parallel_size = 2,
                      .data_parallel_sharding_strategy = ShardingStrategy::optim,
                      .global_batch_size = 2};
    plan.optimizer_cpu_offload = true;
    plan.optimizer_offload_tier = tier;
    return plan;
}

std::vector<std::string> ops_of_the_end(const Program& program) {
    const auto end = std::ranges::find_if(
        program.segments, [](const Segment& s) { return s.name == "stage 0 optimizer"; });
    std::vector<std::string> names;
    for (const Op& op : end->ops) {
        names.push_back(program.names[op.name]);
    }
    return names;
}

// The next window is read before the host steps the one before.
TEST(HostOptimizer, WindowsOfAFileAreReadAhead) {
    const Transformer model = gpt(4, 128, 8, 64, 512);
    const Program program = lower(model, offload_plan(OffloadTier::file));
    EXPECT_TRUE(verify(program).empty());
    const std::vector<std::string> names = ops_of_the_end(program);
    const auto first = std::ranges::find(names, "state from file");
    const std::vector<std::string> begin{"state from file",
                                         "gradients to host",
                                         "state from file",
                                         "optimizer",
                                         "state to file",
                                         "weights from host"};
    ASSERT_GE(names.end() - first, std::ssize(begin));
    EXPECT_TRUE(std::equal(begin.begin(), begin.end(), first));
    EXPECT_EQ(std::ranges::count(names, "state from file"),
              std::ranges::count(names, "state to file"));
}

// Nothing of the state stays in host memory but two windows.
TEST(HostOptimizer, AFileHasTheStateThatHostMemoryHad) {
    const Transformer model = gpt(4, 128, 8, 64, 512);
    const Program in_memory = lower(model, offload_plan(OffloadTier::host));
    const Program in_file = lower(model, offload_plan(OffloadTier::file));
    const auto bytes = [](const Program& program, MemoryTier tier, Lifetime lifetime) {
        std::int64_t sum = 0;
        for (const Tensor& tensor : program.tensors) {
            const bool counts = tensor.tier == tier && tensor.lifetime == lifetime;
            sum += counts ? tensor.bytes.count() : 0;
        }
        return sum;
    };
    const std::int64_t state = bytes(in_memory, MemoryTier::dram, Lifetime::persistent);
    EXPECT_GT(state, 0);
    EXPECT_EQ(bytes(in_file, MemoryTier::dram, Lifetime::persistent), 0);
    EXPECT_EQ(bytes(in_file, MemoryTier::nvme, Lifetime::persistent), state);
    EXPECT_LT(host_bytes(in_file, RoleId{0}), host_bytes(in_memory, RoleId{0}));
    EXPECT_EQ(role_memory(in_file, RoleId{0}, Bytes{}).in_use,
              role_memory(in_memory, RoleId{0}, Bytes{}).in_use);
}

TEST(HostOptimizer, AFileIsForAnOffloadedOptimizer) {
    ParallelPlan plan = offload_plan(OffloadTier::file);
    EXPECT_TRUE(check(gpt(4, 128, 8, 64, 512), plan, 2).empty());
    plan.optimizer_cpu_offload = false;
    const Errors errors = check(gpt(4, 128, 8, 64, 512), plan, 2);
    ASSERT_EQ(errors.size(), 1u);
    EXPECT_EQ(errors[0].where, "plan.optimizer_offload_tier");
}

}  // namespace
}  // namespace orrery
