// SPDX-License-Identifier: Apache-2.0
// Who steps which weights: the device, its host, both, or the host beside the next step.
#include "models/lowering/optimizer_lowering.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/program/verifier.h"
#include "models/lowering/lowering.h"
#include "models/memory/memory.h"
#include "models/plan/validate_plan.h"
#include "tests/models/known_models.h"

namespace orrery {
namespace optimizer_lowering_test {

Transformer stepped_model() {
    Transformer model = gpt(8, 128, 8, 64, 512);
    model.tied_embeddings = false;
    return model;
}

Program lowered(const ParallelPlan& plan) {
    const Errors rules = check(stepped_model(), plan, 2);
    EXPECT_TRUE(rules.empty()) << rules[0].where << ": " << rules[0].what;
    Program program = lower(stepped_model(), plan);
    const Errors errors = verify(program);
    EXPECT_TRUE(errors.empty()) << errors[0].where << ": " << errors[0].what;
    return program;
}

ParallelPlan host_plan() {
    ParallelPlan plan{.data_parallel_size = 2,
                      .data_parallel_sharding_strategy = ShardingStrategy::optim,
                      .global_batch_size = 2};
    plan.optimizer_cpu_offload = true;
    return plan;
}

// Ops of the step's end with this name.
std::vector<const Op*> ends_named(const Program& program, std::string_view name) {
    const auto end = std::ranges::find_if(
        program.segments, [](const Segment& s) { return s.name == "stage 0 optimizer"; });
    std::vector<const Op*> ops;
    for (const Op& op : end->ops) {
        if (program.names[op.name] == name) {
            ops.push_back(&op);
        }
    }
    return ops;
}

std::int64_t state_on(const Program& program, MemoryTier tier) {
    std::int64_t bytes = 0;
    for (const Tensor& tensor : program.tensors) {
        const bool counts = tensor.kind == TensorKind::optimizer && tensor.tier == tier &&
                            tensor.lifetime == Lifetime::persistent;
        bytes += counts ? tensor.bytes.count() : 0;
    }
    return bytes;
}

// An fp32 weight, its gradient and moments m, v: decay (8 bytes), m (12), decay of v (8), v (12),
// root (8), division (8), epsilon (8), update (16).
TEST(OptimizerLowering, OperatorsMoveTheirOperandsOneByOne) {
    ParallelPlan plan{.global_batch_size = 2};
    plan.data_parallel_size = 2;
    plan.precision = Dtype::fp32;
    const Program fused = lowered(plan);
    plan.fused_optimizer = false;
    const Program apart = lowered(plan);
    const auto step = [](const Program& program) {
        const std::vector<const Op*> steps = ends_named(program, "optimizer");
        EXPECT_EQ(steps.size(), 1u);
        return *steps.front();
    };
    const KernelCall& one = fused.kernel(step(fused));
    const KernelCall& all = apart.kernel(step(apart));
    const std::int64_t parameters = num_parameters(stepped_model());
    EXPECT_EQ(one.dims[0], parameters);
    EXPECT_EQ(one.bytes, 28 * parameters);
    EXPECT_EQ(all.bytes, 80 * parameters);
    EXPECT_EQ(step(fused).launches, 1);
    EXPECT_EQ(step(apart).launches, 8);
    const auto roots = [](const Program& program) {
        const auto& tensors = program.tensors;
        const auto found = std::ranges::find(tensors, "roots of second moments", &Tensor::name);
        return found == tensors.end() ? 0 : found->bytes.count();
    };
    EXPECT_EQ(roots(fused), 0);
    EXPECT_EQ(roots(apart), 4 * parameters);
}

TEST(OptimizerLowering, OnlyTheDevicesAdamHasOperators) {
    const auto refuses = [](const ParallelPlan& plan) {
        const Errors errors = check(stepped_model(), plan, 2);
        return std::ranges::count(errors, "plan.fused_optimizer", &Error::where) == 1;
    };
    ParallelPlan plan = host_plan();
    EXPECT_FALSE(refuses(plan));
    plan.fused_optimizer = false;
    EXPECT_TRUE(refuses(plan));
    plan.optimizer_cpu_offload = false;
    EXPECT_FALSE(refuses(plan));
    plan.optimizer = Optimizer::lamb;
    EXPECT_TRUE(refuses(plan));
}

TEST(OptimizerLowering, DeviceAndHostStepAPartEach) {
    const Program whole = lowered(host_plan());
    ParallelPlan plan = host_plan();
    plan.optimizer_offload_fraction = 0.5;
    const Program both = lowered(plan);
    EXPECT_EQ(state_on(both, MemoryTier::dram) + state_on(both, MemoryTier::hbm),
              state_on(whole, MemoryTier::dram));
    const double share = static_cast<double>(state_on(both, MemoryTier::dram)) /
                         static_cast<double>(state_on(whole, MemoryTier::dram));
    EXPECT_GT(share, 0.4);
    EXPECT_LE(share, 0.5);
    const std::vector<const Op*> steps = ends_named(both, "optimizer");
    ASSERT_EQ(steps.size(), 2u);
    EXPECT_EQ(steps[0]->stream, kHostStream);  // beside the device's
    EXPECT_EQ(steps[1]->stream, kComputeStream);
    EXPECT_EQ(both.kernel(*steps[0]).tier, MemoryTier::dram);
    EXPECT_EQ(both.kernel(*steps[1]).tier, MemoryTier::hbm);
}

// The host's copy of 4 bytes a parameter is stored besides and travels, where 2 would.
TEST(OptimizerLowering, Fp32WeightsLeaveTheHost) {
    for (const StateTier gradients : {StateTier::device, StateTier::host}) {
        ParallelPlan plan = host_plan();
        plan.grad_offload_tier = gradients;
        const auto moved = [&] {
            const Program program = lowered(plan);
            std::int64_t bytes = 0;
            for (const Op* op : ends_named(program, "weights from host")) {
                bytes += program.copy(*op).bytes.count();
            }
            std::int64_t stored = 0;
            for (const Op* op : ends_named(program, "fp32 weights")) {
                EXPECT_EQ(program.kernel(*op).tier, MemoryTier::dram);
                stored += program.kernel(*op).bytes;
            }
            return std::pair{bytes, stored};
        };
        const auto [in_16_bits, none] = moved();
        plan.offload_fp32_weights = true;
        const auto [in_fp32, stored] = moved();
        EXPECT_EQ(none, 0);
        EXPECT_EQ(in_fp32, 2 * in_16_bits);
        EXPECT_EQ(stored, 2 * in_fp32);  // lines are read before they are written
    }
}

// Weights of the gradients before come at the end of a step, and what the host does then nothing of
// the step waits for.
TEST(OptimizerLowering, ADelayedStepIsBesideTheNextOne) {
    ParallelPlan plan = host_plan();
    plan.delayed_param_update = true;
    for (const StateTier tier : {StateTier::device, StateTier::host}) {
        plan.grad_offload_tier = tier;
        const Program program = lowered(plan);
        const Role& role = program.roles[0];
        ASSERT_EQ(role.host_reads.size(), 1u);
        const Segment& end = program.segment_of(role.slots[role.host_reads[0].slot]);
        const Op& read = end.ops[role.host_reads[0].op];
        EXPECT_EQ(program.names[read.name], "weights from host");
        const std::vector<const Op*> steps = ends_named(program, "optimizer");
        ASSERT_EQ(steps.size(), 1u);
        EXPECT_EQ(steps[0]->stream, kHostStream);
        EXPECT_GT(steps[0], &read);
        EXPECT_NE(end.ops.back().stream, kHostStream);  // what a gather of weights waits for
        // The copy waits for the step of the step before.
        const bool carried = std::ranges::any_of(role.slots, [&](const Slot& slot) {
            return std::ranges::any_of(slot.waits, [&](const SlotWait& wait) {
                const Segment& on = program.segment_of(role.slots[wait.slot]);
                return wait.carried && &on.ops[wait.slot_op] == steps[0];
            });
        });
        EXPECT_TRUE(carried);
    }
}

}  // namespace optimizer_lowering_test
}  // namespace orrery
