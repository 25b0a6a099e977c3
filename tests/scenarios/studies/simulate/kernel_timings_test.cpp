// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/simulate/kernel_timings.h"

#include <gtest/gtest.h>

#include <cmath>

namespace orrery {
namespace {

using namespace orrery::literals;

// Kernel k takes (k + 1) us; the second is measured, the third interpolated.
class ToyCost final : public KernelCost {
public:
    KernelTime time(const KernelCall& call) const override {
        const auto k = call.dims[0];
        constexpr CostSource kSources[] = {
            CostSource::roofline, CostSource::measured, CostSource::interpolated};
        return {.duration = Time::picoseconds((k + 1) * 1'000'000),
                .ideal = 500_ns,
                .source = kSources[k],
                .relative_sigma = 0.1,
                .persistent = call.kind == KernelKind::gemm};
    }
};

// Two roles: the first runs segment 0 three times, the second once, and segment 1 twice.
Program toy_program() {
    Program program;
    for (const std::int64_t k : {0, 1, 2}) {
        program.kernels.push_back(
            {.kind = k == 2 ? KernelKind::adamw : KernelKind::gemm, .dims = {k}});
    }
    const auto kernel = [](std::uint32_t k) { return Op{.payload = KernelId{k}}; };
    program.segments = {{"a", {kernel(0), kernel(1), kernel(0), Op{.payload = HostWorkId{0}}}},
                        {"b", {kernel(2)}}};
    const Slot a{.segment = SegmentId{0}};
    const Slot b{.segment = SegmentId{1}};
    program.roles = {{"first", {a, a, a}}, {"second", {a, b, b}}};
    return program;
}

EfficiencyTable gemm_factor(double factor) {
    EfficiencyTable table;
    table.set("sustained.gemm", "*", "*", {.value = factor, .sigma = 0, .source = "test"});
    return table;
}

TEST(KernelCounts, AreRunsOfASlotsSegmentOverAllRoles) {
    EXPECT_EQ(kernel_counts(toy_program()), (std::vector<std::int64_t>{8, 4, 2}));
}

// Products are persistent, and communication queues for SMs, where they run beside exchanges of
// rows, which are segments of their own then.
TEST(TimeKernels, ProductsArePersistentBesideExchangesOfRows) {
    const DeviceSpec device{.num_sms = 77};
    const auto persistent = [&](const Program& program) {
        const DeviceTimings timings =
            time_kernels(program, ToyCost{}, StepEfficiency{EfficiencyTable{}, device}, device, 1);
        EXPECT_EQ(timings.communication_queues, timings.kernels[0].persistent);
        return timings.kernels[0].persistent;
    };
    Program program = toy_program();
    program.collectives = {{.rows = {.dispatcher = 1}}, {}};
    EXPECT_FALSE(persistent(program));
    program.segments.push_back({"gradients", {Op{.payload = CollectiveId{1}}}});
    EXPECT_FALSE(persistent(program));
    program.segments.front().ops.push_back(Op{.payload = CollectiveId{0}});
    EXPECT_FALSE(persistent(program));
    program.segments.push_back({"dispatch", {Op{.payload = CollectiveId{0}}}});
    EXPECT_TRUE(persistent(program));
}

TEST(TimeKernels, FactorsStretchWhatIsPredictedAndNothingThatIsMeasured) {
    const EfficiencyTable table = gemm_factor(1.5);
    const DeviceSpec device{.num_sms = 77};
    const DeviceTimings timings =
        time_kernels(toy_program(), ToyCost{}, StepEfficiency{table, device}, device, 1);
    ASSERT_EQ(timings.kernels.size(), 3U);
    EXPECT_EQ(timings.kernels[0].duration, 1'500_ns);
    EXPECT_EQ(timings.kernels[0].ideal, 500_ns);
    EXPECT_EQ(timings.kernels[1].duration, 2_us);
    EXPECT_EQ(timings.kernels[2].duration, 3_us);
    EXPECT_EQ(timings.num_sms, 77U);
}

TEST(TimeKernels, ASlowDeviceIsSlowInEverything) {
    const EfficiencyTable none;
    const DeviceSpec device;
    const DeviceTimings timings =
        time_kernels(toy_program(), ToyCost{}, StepEfficiency{none, device}, device, 1.25);
    EXPECT_EQ(timings.kernels[0].duration, 1'250_ns);
    EXPECT_EQ(timings.kernels[1].duration, 2'500_ns);
    EXPECT_EQ(timings.kernels[2].duration, 3'750_ns);
}

TEST(SummariseKernels, WeighsByTimeAndByHowOften) {
    const EfficiencyTable none;
    const DeviceSpec device;
    const Program program = toy_program();
    const DeviceTimings timings =
        time_kernels(program, ToyCost{}, StepEfficiency{none, device}, device, 1);
    const KernelSummary summary = summarise_kernels(program, timings);
    // 8 * 1 us of roofline, 4 * 2 us measured, 2 * 3 us interpolated.
    EXPECT_DOUBLE_EQ(summary.sources.roofline, 8.0 / 22);
    EXPECT_DOUBLE_EQ(summary.sources.measured, 8.0 / 22);
    EXPECT_DOUBLE_EQ(summary.sources.interpolated, 6.0 / 22);
    EXPECT_EQ(summary.mean_per_rank, 11_us);
    // Products err together: 16 us; the optimizer on its own: 6 us.
    EXPECT_NEAR(summary.relative_sigma, 0.1 * std::hypot(16, 6) / 22, 1e-12);
    EXPECT_EQ(summary.distance_sigma, 0);
}

// However many there are, and whichever role runs them.
TEST(SummariseKernels, ErrorsOfProductsFarFromMeasuredOnesDoNotAverageOut) {
    const EfficiencyTable none;
    const DeviceSpec device;
    const Program program = toy_program();
    DeviceTimings timings =
        time_kernels(program, ToyCost{}, StepEfficiency{none, device}, device, 1);
    timings.kernels[0].distance_sigma = 0.3;
    timings.kernels[1].distance_sigma = 0.1;
    EXPECT_DOUBLE_EQ(summarise_kernels(program, timings).distance_sigma, (0.3 * 8 + 0.1 * 8) / 22);
}

TEST(SummariseKernels, OfNoKernelsIsNothing) {
    const KernelSummary summary = summarise_kernels(Program{}, DeviceTimings{});
    EXPECT_EQ(summary.mean_per_rank, Time{});
    EXPECT_EQ(summary.relative_sigma, 0);
}

}  // namespace
}  // namespace orrery
