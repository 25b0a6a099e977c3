// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/simulate/step_efficiency.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "kernels/attention/attention.h"

namespace orrery {
namespace {

// E[max] = integral of x n phi(x) Phi(x)^(n-1), by the trapezoidal rule.
double integrated_maximum(double n) {
    constexpr double kStep = 1e-3;
    double sum = 0;
    for (double x = -9; x < 9; x += kStep) {
        const double phi = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
        const double log_below = std::log(0.5 * std::erfc(-x / std::numbers::sqrt2));
        sum += x * n * phi * std::exp((n - 1) * log_below);
    }
    return sum * kStep;
}

DeviceSpec device_of(const std::string& generation) {
    DeviceSpec device;
    device.generation = generation;
    return device;
}

EfficiencyTable table_of(
    const std::vector<std::pair<std::array<std::string, 3>, double>>& factors) {
    EfficiencyTable table;
    for (const auto& [key, value] : factors) {
        table.set(key[0], key[1], key[2], {.value = value, .sigma = 0, .source = "test"});
    }
    return table;
}

TEST(ExpectedMaximum, MatchesTheIntegral) {
    EXPECT_NEAR(integrated_maximum(2), 1 / std::sqrt(std::numbers::pi), 1e-9);  // closed form
    for (const std::int64_t n : {2, 3, 5, 8, 16, 100, 1'024, 12'288, 100'000}) {
        const double exact = integrated_maximum(static_cast<double>(n));
        EXPECT_NEAR(expected_maximum_of_normals(n), exact, (n < 8 ? 0.05 : 0.01) * exact) << n;
    }
}

TEST(ExpectedMaximum, OfOneOrNoneIsTheMean) {
    EXPECT_EQ(expected_maximum_of_normals(1), 0);
    EXPECT_EQ(expected_maximum_of_normals(0), 0);
}

TEST(StepEfficiency, MoreDevicesWaitForASlowerOne) {
    const DeviceSpec device = device_of("ampere");
    const EfficiencyTable table = table_of({{{"noise.sigma", "*", "*"}, 0.02}});
    const StepEfficiency step{table, device};
    EXPECT_EQ(step.slowest_of(1), 1);
    double last = 1;
    for (std::int64_t n = 2; n < 1'000'000; n *= 4) {
        EXPECT_GT(step.slowest_of(n), last) << n;
        last = step.slowest_of(n);
    }
    EXPECT_LT(last, 1.1);  // five standard deviations
    const EfficiencyTable none;
    EXPECT_EQ((StepEfficiency{none, device}.slowest_of(1'000'000)), 1);
}

TEST(SlowestServer, IsSlowIfAnyOfThemIs) {
    EXPECT_EQ(slowest_server(0, 0.1, 1000), 1);
    EXPECT_DOUBLE_EQ(slowest_server(0.25, 0.1, 1), 1.025);
    EXPECT_DOUBLE_EQ(slowest_server(0.25, 0.1, 2), 1 + 0.1 * 7 / 16);
    EXPECT_EQ(slowest_server(1, 0.1, 3), 1.1);
    EXPECT_NEAR(slowest_server(0.005, 0.1, 100'000), 1.1, 1e-12);
}

TEST(StepEfficiency, LeavesMoreOfWhatWasNotSeen) {
    const EfficiencyTable table = table_of({{{"step.residual", "*", "*"}, 0.05},
                                            {{"step.residual.software", "*", "*"}, 0.1},
                                            {{"step.residual.lineage", "*", "*"}, 0.3},
                                            {{"step.residual.device", "*", "*"}, 0.2},
                                            {{"step.shift.software", "*", "*"}, 0.02},
                                            {{"step.shift.lineage", "*", "*"}, 0.15},
                                            {{"step.shift.device", "*", "*"}, -0.01},
                                            {{"step.seen.nemo", "hopper", "fp8"}, 3},
                                            {{"step.seen.llm-foundry", "hopper", "fp16"}, 1}});
    const DeviceSpec hopper = device_of("hopper");
    const StepEfficiency step{table, hopper};
    const auto expect =
        [&](std::string_view software, Dtype precision, double sigma, Unseen unseen) {
            const StepResidual residual = step.residual(software, precision);
            EXPECT_EQ(residual.sigma, sigma) << software;
            EXPECT_EQ(residual.unseen, unseen) << software;
        };
    expect("nemo-26.01", Dtype::fp8, 0.05, Unseen::nothing);
    expect("megatron-lm", Dtype::fp8, 0.1, Unseen::software);
    expect("nemo-26.01", Dtype::bf16, 0.3, Unseen::lineage);
    expect("llm-foundry-2023", Dtype::bf16, 0.05, Unseen::nothing);
    expect("", Dtype::bf16, 0.3, Unseen::lineage);
    expect("nemo", Dtype::fp32, 0.2, Unseen::device);
    expect("megatron-lm", Dtype::fp32, 0.2, Unseen::device);
    expect("torchtitan", Dtype::fp32, 0.3, Unseen::device);
    // Around what such steps took: the shift of what widens the spread.
    EXPECT_EQ(step.residual("nemo-26.01", Dtype::fp8).shift, 0);
    EXPECT_EQ(step.residual("megatron-lm", Dtype::fp8).shift, 0.02);
    EXPECT_EQ(step.residual("nemo", Dtype::fp32).shift, -0.01);
    EXPECT_EQ(step.residual("torchtitan", Dtype::fp32).shift, 0.15);
    const DeviceSpec blackwell = device_of("blackwell");
    EXPECT_EQ((StepEfficiency{table, blackwell}.residual("nemo", Dtype::fp8).unseen),
              Unseen::device);
}

// No factor is fitted on models with experts: their spread is at least that of such models.
TEST(StepEfficiency, LeavesMoreOfModelsWithExperts) {
    const EfficiencyTable table = table_of({{{"step.residual", "*", "*"}, 0.05},
                                            {{"step.residual.lineage", "*", "*"}, 0.3},
                                            {{"step.residual.experts", "*", "*"}, 0.1},
                                            {{"step.shift.experts", "*", "*"}, 0.12},
                                            {{"step.shift.lineage", "*", "*"}, 0.15},
                                            {{"step.seen.nemo", "hopper", "fp8"}, 3}});
    const DeviceSpec hopper = device_of("hopper");
    const StepEfficiency step{table, hopper};
    const StepResidual seen = step.residual("nemo", Dtype::fp8, true);
    EXPECT_EQ(seen.sigma, 0.1);
    EXPECT_EQ(seen.shift, 0.12);
    EXPECT_EQ(seen.unseen, Unseen::experts);
    EXPECT_EQ(name(seen.unseen), "experts");
    // More was unseen already, and remains what is said.
    const StepResidual unseen = step.residual("torchtitan", Dtype::fp8, true);
    EXPECT_EQ(unseen.sigma, 0.3);
    EXPECT_EQ(unseen.shift, 0.15);
    EXPECT_EQ(unseen.unseen, Unseen::lineage);
    EXPECT_EQ(step.residual("nemo", Dtype::fp8).unseen, Unseen::nothing);
}

TEST(SeenSteps, TellsWhatIsUnseenOfAStep) {
    SeenSteps seen;
    EXPECT_TRUE(seen.empty());
    EXPECT_EQ(seen.step("nemo", "hopper", "fp8"), Unseen::device);
    seen.add("nemo-24.05", "hopper", "fp8");
    seen.add("llm.c-2024", "hopper", "fp16");
    EXPECT_EQ(seen.step("nemo", "hopper", "fp8"), Unseen::nothing);
    EXPECT_EQ(seen.step("megascale", "hopper", "fp8"), Unseen::software);
    EXPECT_EQ(seen.step("llm.c", "hopper", "fp8"), Unseen::lineage);
    EXPECT_EQ(seen.step("nemo", "ampere", "fp8"), Unseen::device);
    EXPECT_EQ(seen.software("llm.c"), Unseen::nothing);
    EXPECT_EQ(seen.software("megatron-core"), Unseen::software);
    EXPECT_EQ(seen.software(""), Unseen::lineage);
}

// Made by hand, or by an earlier version.
TEST(StepEfficiency, ATableThatNamesNoSoftwareHasSeenAll) {
    const EfficiencyTable table = table_of({{{"step.residual", "*", "*"}, 0.05}});
    const DeviceSpec device = device_of("ampere");
    const StepResidual residual = StepEfficiency{table, device}.residual("any", Dtype::bf16);
    EXPECT_EQ(residual.sigma, 0.05);
    EXPECT_EQ(residual.unseen, Unseen::nothing);
}

TEST(StepEfficiency, ACpuHasNoStreamToFillAgain) {
    const EfficiencyTable table = table_of({{{"host.restart_us", "*", "*"}, 40}});
    const DeviceSpec gpu = device_of("ampere");
    const DeviceSpec cpu = device_of("cpu");
    EXPECT_EQ((StepEfficiency{table, gpu}.restart()), Time::picoseconds(40'000'000));
    EXPECT_EQ((StepEfficiency{table, cpu}.restart()), Time{});
}

TEST(StepEfficiency, NamesEveryKernelsFactor) {
    EXPECT_EQ(StepEfficiency::factor_name({.kind = KernelKind::gemm}), "sustained.gemm");
    EXPECT_EQ(StepEfficiency::factor_name({.kind = KernelKind::adamw}), "sustained.memory");
    EXPECT_EQ(StepEfficiency::factor_name({.kind = KernelKind::layernorm_forward}),
              "sustained.memory");
    AttentionShape shape{.seq_q = 64, .seq_kv = 64, .heads = 2, .kv_heads = 2, .head_dim = 128};
    for (const AttentionGeneration generation :
         {AttentionGeneration::flash_1, AttentionGeneration::flash_2}) {
        shape.generation = generation;
        const std::string_view expected = generation == AttentionGeneration::flash_1
                                              ? "sustained.attention.flash_1"
                                              : "sustained.attention";
        EXPECT_EQ(StepEfficiency::factor_name(attention_forward(shape, Dtype::bf16)), expected);
        EXPECT_EQ(StepEfficiency::factor_name(attention_backward(shape, Dtype::bf16)), expected);
    }
    shape.head_dim = 64;
    EXPECT_EQ(StepEfficiency::factor_name(attention_forward(shape, Dtype::bf16)),
              "sustained.attention");
    shape.generation = AttentionGeneration::flash_1;
    EXPECT_EQ(StepEfficiency::factor_name(attention_forward(shape, Dtype::bf16)),
              "sustained.attention.flash_1.small_heads");
}

TEST(StepEfficiency, LooksFactorsUpByGenerationAndElementType) {
    const DeviceSpec hopper = device_of("hopper");
    const DeviceSpec ampere = device_of("ampere");
    const EfficiencyTable table = table_of({{{"sustained.gemm", "hopper", "fp16"}, 1.2},
                                            {{"sustained.gemm", "hopper", "fp8"}, 1.3},
                                            {{"sustained.memory", "*", "*"}, 1.1}});
    const KernelCall bf16{.kind = KernelKind::gemm, .dtype = Dtype::bf16};
    const KernelCall fp8{.kind = KernelKind::gemm, .dtype = Dtype::fp8};
    const StepEfficiency on_hopper{table, hopper};
    const StepEfficiency on_ampere{table, ampere};
    EXPECT_EQ(on_hopper.factor(bf16), 1.2);
    EXPECT_EQ(on_hopper.factor(fp8), 1.3);
    EXPECT_EQ(on_ampere.factor(bf16), 1);
    EXPECT_EQ(on_ampere.factor({.kind = KernelKind::adamw}), 1.1);
}

TEST(StepEfficiency, AttentionKernelsThatGrowGainAPowerOfTheKeys) {
    const DeviceSpec device = device_of("ampere");
    const EfficiencyTable table =
        table_of({{{"sustained.attention.flash_1", "*", "*"}, 1.2},
                  {{"sustained.attention.flash_1.growth", "*", "*"}, 0.5}});
    const StepEfficiency step{table, device};
    AttentionShape shape{.batch = 1,
                         .seq_q = 2048,
                         .seq_kv = 2048,
                         .heads = 8,
                         .kv_heads = 8,
                         .head_dim = 128,
                         .generation = AttentionGeneration::flash_1};
    EXPECT_DOUBLE_EQ(step.factor(attention_forward(shape, Dtype::bf16)), 1.2);
    shape.seq_kv = 8192;
    EXPECT_DOUBLE_EQ(step.factor(attention_forward(shape, Dtype::bf16)), 0.6);
    shape.head_dim = 64;  // another factor, the same growth
    EXPECT_DOUBLE_EQ(step.factor(attention_forward(shape, Dtype::bf16)), 0.5);
    shape.generation = AttentionGeneration::flash_2;
    EXPECT_DOUBLE_EQ(step.factor(attention_forward(shape, Dtype::bf16)), 1.0);
}

TEST(StepEfficiency, AnOpIsACallOfAFrameworkUnlessItIsLaunchedFromCppOrAGraph) {
    DeviceSpec device = device_of("hopper");
    device.launch_cost = Time::picoseconds(5'000'000);
    device.graph_launch_cost = Time::picoseconds(1'000'000);
    const EfficiencyTable table =
        table_of({{{"host.call", "hopper", "fp16"}, 18}, {{"host.call", "hopper", "fp8"}, 23.5}});
    const StepEfficiency step{table, device};
    ParallelPlan plan;
    plan.precision = Dtype::bf16;
    EXPECT_EQ(step.launch_cost(plan), Time::picoseconds(90'000'000));
    plan.precision = Dtype::fp8;
    EXPECT_EQ(step.launch_cost(plan), Time::picoseconds(117'500'000));
    plan.compiled = true;
    EXPECT_EQ(step.launch_cost(plan), device.launch_cost);
    plan.compiled = false;
    plan.eager_framework = false;
    EXPECT_EQ(step.launch_cost(plan), device.launch_cost);
    plan.cuda_graphs = true;
    EXPECT_EQ(step.launch_cost(plan), device.graph_launch_cost);
    // No row: a call is a launch.
    DeviceSpec ampere = device;
    ampere.generation = "ampere";
    EXPECT_EQ((StepEfficiency{table, ampere}.launch_cost(ParallelPlan{})), ampere.launch_cost);
}

// Rows as those of the catalogue's table: what calls of different servers and element types differ
// by, and how far each is known.
TEST(StepEfficiency, ACallIsAsUncertainAsItsRowAndALaunchIsKnown) {
    EfficiencyTable table;
    const auto set = [&](const char* generation, const char* dtype, double value, double sigma) {
        table.set("host.call",
                  generation,
                  dtype,
                  {.value = value, .sigma = sigma, .source = "fit: published/host_bound.csv"});
    };
    set("*", "*", 18.06, 0.104);
    set("*", "fp8", 22.892, 0.191);
    set("ampere", "fp16", 31.164, 0.143);
    set("hopper", "fp16", 18.06, 0.104);
    set("hopper", "fp8", 22.892, 0.191);
    const auto sigma = [&](const char* generation, const ParallelPlan& plan) {
        const DeviceSpec device = device_of(generation);
        return StepEfficiency{table, device}.launch_sigma(plan);
    };
    EXPECT_EQ(sigma("ampere", {.precision = Dtype::bf16}), 0.143);
    EXPECT_EQ(sigma("hopper", {.precision = Dtype::bf16}), 0.104);
    EXPECT_EQ(sigma("hopper", {.precision = Dtype::fp8}), 0.191);
    EXPECT_EQ(sigma("blackwell", {.precision = Dtype::fp8}), 0.191);
    EXPECT_EQ(sigma("blackwell", {.precision = Dtype::fp32}), 0.104);
    EXPECT_EQ(sigma("cpu", {}), 0);
    EXPECT_EQ(sigma("ampere", {.eager_framework = false}), 0);
    EXPECT_EQ(sigma("ampere", {.cuda_graphs = true}), 0);
    EXPECT_EQ(sigma("ampere", {.compiled = true}), 0);
}

TEST(StepEfficiency, ACpuCallsItsKernelsItself) {
    DeviceSpec device = device_of("cpu");
    device.launch_cost = Time::picoseconds(2'000'000);
    const EfficiencyTable table = table_of({{{"host.call", "*", "*"}, 18}});
    EXPECT_EQ((StepEfficiency{table, device}.launch_cost(ParallelPlan{})), device.launch_cost);
}

}  // namespace
}  // namespace orrery
