// SPDX-License-Identifier: Apache-2.0
// Weights and gradients in the host's memory and on its drives: how many bytes cross which link, in
// which order, and what stays on the device.
#include "models/segments/offloaded_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "engine/program/verifier.h"
#include "models/lowering/lowering.h"
#include "models/memory/memory.h"
#include "models/plan/validate_plan.h"
#include "tests/models/known_models.h"
#include "tests/models/program_sums.h"

namespace orrery {
namespace offloaded_state_test {

constexpr std::int64_t kOwnLayers = 6;

Transformer untied_model() {
    Transformer model = gpt(kOwnLayers, 128, 8, 64, 512);
    model.tied_embeddings = false;
    return model;
}

ParallelPlan infinity_plan(StateTier tier, std::int64_t ranks, std::int64_t micro_batches = 1) {
    ParallelPlan plan{.data_parallel_size = ranks,
                      .data_parallel_sharding_strategy = ShardingStrategy::optim_grads_params,
                      .global_batch_size = ranks * micro_batches};
    plan.optimizer_cpu_offload = true;
    plan.gradient_dtype = Dtype::bf16;
    plan.param_offload_tier = tier;
    plan.grad_offload_tier = tier;
    plan.overlap_param_gather = true;
    plan.optimizer_offload_tier = tier == StateTier::file ? OffloadTier::file : OffloadTier::host;
    return plan;
}

Program lowered(const Transformer& model, const ParallelPlan& plan) {
    const Errors rules = check(model, plan, plan.data_parallel_size);
    EXPECT_TRUE(rules.empty()) << rules[0].where << ": " << rules[0].what;
    Program program = lower(model, plan);
    const Errors errors = verify(program);
    EXPECT_TRUE(errors.empty()) << errors[0].where << ": " << errors[0].what;
    return program;
}

// Bytes of one rank in a step.
std::int64_t copied(const Program& program, MemoryTier from, MemoryTier to) {
    std::int64_t bytes = 0;
    for_each_op(program, program.roles[0], [&](const Slot&, const Op& op) {
        if (op.kind() == OpKind::copy && program.copy(op).from == from &&
            program.copy(op).to == to) {
            bytes += program.copy(op).bytes.count();
        }
    });
    return bytes;
}

std::int64_t persistent(const Program& program, MemoryTier tier, TensorKind kind) {
    std::int64_t bytes = 0;
    for (const Tensor& tensor : program.tensors) {
        const bool counts =
            tensor.tier == tier && tensor.kind == kind && tensor.lifetime == Lifetime::persistent;
        bytes += counts ? tensor.bytes.count() : 0;
    }
    return bytes;
}

// ZeRO-Infinity, section 4: weights come once for each pass, gradients go once.
TEST(OffloadedState, WeightsComeForEachPassAndGradientsGoOnce) {
    const Transformer model = untied_model();
    const std::int64_t weights = 2 * num_parameters(model);
    for (const std::int64_t micro_batches : {1, 3}) {
        const Program program = lowered(model, infinity_plan(StateTier::host, 1, micro_batches));
        // With several micro-batches the sum of the earlier ones comes, too.
        const std::int64_t sums = micro_batches == 1 ? 0 : weights * micro_batches;
        EXPECT_EQ(copied(program, MemoryTier::dram, MemoryTier::hbm),
                  2 * weights * micro_batches + sums);
        EXPECT_EQ(copied(program, MemoryTier::hbm, MemoryTier::dram), weights * micro_batches);
        EXPECT_EQ(copied(program, MemoryTier::nvme, MemoryTier::dram), 0);
    }
}

TEST(OffloadedState, RanksBringAPartEachAndGatherItThen) {
    const Transformer model = untied_model();
    const Program one = lowered(model, infinity_plan(StateTier::host, 1));
    const Program four = lowered(model, infinity_plan(StateTier::host, 4));
    const auto in = [](const Program& program) {
        return static_cast<double>(copied(program, MemoryTier::dram, MemoryTier::hbm));
    };
    EXPECT_NEAR(in(four) / in(one), 0.25, 0.001);
    const TrafficTable table = traffic(four, four.roles[0]);
    EXPECT_GE(table.at({"all_gather", "dp"}).bytes, 4 * num_parameters(model));
    EXPECT_FALSE(traffic(one, one.roles[0]).contains({"all_gather", "dp"}));
}

TEST(OffloadedState, OnDrivesAllPassesTheHostsMemory) {
    const Transformer model = untied_model();
    const std::int64_t parameters = num_parameters(model);
    const Program program = lowered(model, infinity_plan(StateTier::file, 1));
    // Read: weights for two passes, gradients and state for the step. Written: gradients, then
    // weights and state.
    EXPECT_EQ(copied(program, MemoryTier::nvme, MemoryTier::dram), parameters * (4 + 2 + 12));
    EXPECT_EQ(copied(program, MemoryTier::dram, MemoryTier::nvme), parameters * (2 + 2 + 12));
    EXPECT_EQ(copied(program, MemoryTier::dram, MemoryTier::hbm), parameters * 4);
    EXPECT_EQ(copied(program, MemoryTier::hbm, MemoryTier::dram), parameters * 2);
}

// Section 4 there: a step computes 8 s b FLOP a parameter. It moves 8 bytes of weights and
// gradients, since weights come again for the recomputation (here the backward pass finds them),
// and 32 of gradients, fp32 weights and moments. At 70 TFLOP/s and 2,048 tokens 60 GB/s of the
// first leave 0.637 of the speed, 1,500 GB/s of the second 0.916.
TEST(OffloadedState, EfficiencyIsThatOfZeroInfinitysClosedForm) {
    constexpr std::int64_t kTokens = 2048;
    constexpr std::int64_t kVocabulary = 512;
    Transformer model = gpt(4, 1024, 16, kTokens, kVocabulary);
    model.tied_embeddings = false;
    ParallelPlan plan = infinity_plan(StateTier::file, 1);
    plan.recompute_granularity = Recompute::full;
    plan.gradient_dtype = Dtype::fp32;
    const Program program = lowered(model, plan);
    const auto parameters = static_cast<double>(num_parameters(model));
    const double logits = 6.0 * kTokens * static_cast<double>(model.hidden_size * kVocabulary);
    const double of_layers =
        parameters - static_cast<double>((2 * kVocabulary + kTokens) * model.hidden_size);
    const double flop = (executed_flop(program, KernelKind::gemm) - logits) / of_layers;
    EXPECT_NEAR(flop, 8.0 * kTokens, 0.01 * flop);

    const auto bytes = [&](MemoryTier from, MemoryTier to) {
        return static_cast<double>(copied(program, from, to)) / parameters;
    };
    const double weights = 4;  // of 16 bits, for two passes
    const double gradient = bytes(MemoryTier::hbm, MemoryTier::dram);
    EXPECT_EQ(bytes(MemoryTier::dram, MemoryTier::hbm), weights);
    EXPECT_EQ(gradient, 4);  // in fp32; the closed form sends 2
    const double moved = weights + 2 + gradient / 2;
    const double stepped = bytes(MemoryTier::nvme, MemoryTier::dram) - weights +
                           bytes(MemoryTier::dram, MemoryTier::nvme) - 2;
    const auto efficiency = [&](double of_bytes, double bandwidth) {
        const double kept = flop / of_bytes * bandwidth;
        return kept / (kept + 70e12);
    };
    EXPECT_NEAR(efficiency(moved, 60e9), 0.637, 0.002);
    EXPECT_NEAR(efficiency(stepped, 1500e9), 0.916, 0.001);
}

TEST(OffloadedState, NothingOfItPersistsOnTheDevice) {
    const Transformer model = untied_model();
    const std::int64_t parameters = num_parameters(model);
    for (const StateTier tier : {StateTier::host, StateTier::file}) {
        const Program program = lowered(model, infinity_plan(tier, 1));
        const MemoryTier where = tier == StateTier::host ? MemoryTier::dram : MemoryTier::nvme;
        for (const TensorKind kind :
             {TensorKind::weights, TensorKind::gradients, TensorKind::optimizer}) {
            EXPECT_EQ(persistent(program, MemoryTier::hbm, kind), 0);
        }
        EXPECT_EQ(persistent(program, where, TensorKind::weights), 2 * parameters);
        EXPECT_EQ(persistent(program, where, TensorKind::gradients), 2 * parameters);
        EXPECT_EQ(persistent(program, where, TensorKind::optimizer), 12 * parameters);
    }
    // Buffers of drives in the host's memory are a few units.
    const Program in_file = lowered(model, infinity_plan(StateTier::file, 1));
    const Program in_memory = lowered(model, infinity_plan(StateTier::host, 1));
    EXPECT_LT(host_bytes(in_file, RoleId{0}), host_bytes(in_memory, RoleId{0}));
}

// The most on the device does not grow with the layers by more than what they keep.
TEST(OffloadedState, ADeeperModelTakesNoMoreOfTheDevice) {
    const auto peak = [](std::int64_t layers) {
        Transformer model = gpt(layers, 128, 8, 64, 512);
        model.tied_embeddings = false;
        ParallelPlan plan = infinity_plan(StateTier::host, 1);
        plan.recompute_granularity = Recompute::full;
        plan.activation_offload_fraction = 1;
        return largest_plan(lowered(model, plan)).count();
    };
    EXPECT_EQ(peak(8), peak(32));
}

std::vector<std::size_t> places_of(const Program& program,
                                   std::string_view segment,
                                   std::string_view op) {
    const auto found = std::ranges::find_if(
        program.segments, [&](const Segment& s) { return s.name.ends_with(segment); });
    EXPECT_NE(found, program.segments.end());
    std::vector<std::size_t> places;
    for (std::size_t i = 0; found != program.segments.end() && i < found->ops.size(); ++i) {
        if (program.names[found->ops[i].name] == op) {
            places.push_back(i);
        }
    }
    return places;
}

// Section 6.2 there: while a unit is used, the next is gathered, the one behind it comes from the
// host, and the one behind that from the drives.
TEST(OffloadedState, EachTierIsAUnitFurtherAhead) {
    const Program program = lowered(untied_model(), infinity_plan(StateTier::file, 4));
    const auto norms = places_of(program, "forward", "norm 1");
    const auto before = [&](std::string_view op, std::size_t layer) {
        return std::ranges::count_if(places_of(program, "forward", op),
                                     [&](std::size_t place) { return place < norms[layer]; });
    };
    ASSERT_EQ(norms.size(), static_cast<std::size_t>(kOwnLayers));
    // The embedding is the first unit, so that layer 0 is the second.
    EXPECT_EQ(before("weights gather", 0), 3);
    EXPECT_EQ(before("weights from host", 0), 4);
    EXPECT_EQ(before("weights from drives", 0), 5);
}

// --- a share of the layers ---

// Misses of a memory of `slots` that lets go what is used furthest in the future (Belady, 1966).
std::int64_t belady_misses(const std::vector<int>& accesses, std::size_t slots) {
    std::set<int> held;
    std::int64_t misses = 0;
    for (auto now = accesses.begin(); now != accesses.end(); ++now) {
        if (held.contains(*now)) {
            continue;
        }
        ++misses;
        if (held.size() == slots) {
            const auto next = [&](int item) { return std::find(now, accesses.end(), item); };
            held.erase(
                std::ranges::max_element(held, [&](int a, int b) { return next(a) < next(b); }));
        }
        held.insert(*now);
    }
    return misses;
}

TEST(OffloadedState, BeladysRuleHasTheFewestMisses) {
    EXPECT_EQ(belady_misses({1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5}, 3), 7);
}

// PatrickStar lets go the chunk that is used furthest in the future. Passes go through the layers
// and back, where that rule needs as many copies as a fixed share of layers that stay.
TEST(OffloadedState, AFixedShareOfLayersIsAsGoodAsBeladysRule) {
    constexpr int kUnits = kOwnLayers + 2;
    constexpr std::int64_t kBatches = 20;
    for (const int stay : {2, 4, 6}) {
        ParallelPlan plan = infinity_plan(StateTier::host, 1, kBatches);
        plan.grad_offload_tier = StateTier::device;
        plan.overlap_param_gather = false;
        plan.param_offload_fraction = 1 - static_cast<double>(stay) / kUnits;
        const Program program = lowered(untied_model(), plan);
        const auto in_pass = [&](std::string_view pass) {
            return static_cast<std::int64_t>(places_of(program, pass, "weights from host").size());
        };
        const std::int64_t copies = kBatches * (in_pass("forward") + in_pass("backward"));
        std::vector<int> accesses;
        for (int pass = 0; pass < 2 * kBatches; ++pass) {
            for (int unit = 0; unit < kUnits; ++unit) {
                accesses.push_back(pass % 2 == 0 ? unit : kUnits - 1 - unit);
            }
        }
        // The device has room for one more: the unit in use.
        const std::int64_t fewest = belady_misses(accesses, static_cast<std::size_t>(stay) + 1);
        EXPECT_EQ(copies, 2 * kBatches * (kUnits - stay));
        EXPECT_LE(fewest, copies);
        // A unit at each turn, which the pass before has left there.
        EXPECT_LE(copies - fewest, 2 * kBatches + kUnits);
    }
}

TEST(OffloadedState, LayersThatStayAreNotCopied) {
    const Transformer model = untied_model();
    ParallelPlan plan = infinity_plan(StateTier::host, 1);
    plan.param_offload_fraction = 0.5;
    const Program half = lowered(model, plan);
    const std::int64_t there = persistent(half, MemoryTier::dram, TensorKind::weights);
    const std::int64_t here = persistent(half, MemoryTier::hbm, TensorKind::weights);
    EXPECT_GT(there, 0);
    EXPECT_EQ(there + here, 2 * num_parameters(model));
    // For two passes what lies there, and after the step what lies here.
    EXPECT_EQ(copied(half, MemoryTier::dram, MemoryTier::hbm), 2 * there + here);
}

}  // namespace offloaded_state_test
}  // namespace orrery
