// SPDX-License-Identifier: Apache-2.0
#include "kernels/core_mesh.h"

#include <gtest/gtest.h>

#include "kernels/attention/attention.h"
#include "kernels/catalogue.h"
#include "kernels/cost_model.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/gemm/gemm.h"
#include "kernels/rmsnorm/rmsnorm.h"
#include "tests/kernels/devices.h"

namespace orrery {
namespace core_mesh_test {

using namespace literals;

constexpr Dtype kFp16 = Dtype::fp16;

// A hop of 1 ns, a stage of 5 ns, a byte a nanosecond; what a kernel computes takes no time.
DeviceSpec wafer(std::uint32_t rows, std::uint32_t columns) {
    DeviceSpec device{.name = "wafer", .generation = "cpu"};
    device.peak_fp32 = device.peak_fp16 = FlopRate::per_second(1e30);
    device.memory_bandwidth = Bandwidth::bytes_per_second(1'000'000'000'000'000'000);
    device.core_mesh_rows = rows;
    device.core_mesh_columns = columns;
    device.core_hop_latency = 1_ns;
    device.core_step_latency = 5_ns;
    device.core_link_bandwidth = Bandwidth::bytes_per_second(1'000'000'000);
    return device;
}

KernelCall product(std::int64_t m, std::int64_t n, std::int64_t k) {
    return gemm(m, n, k, 1, kFp16, GemmEpilogue::none, kFp16);
}

// Sixteen cores are four groups of four. Each phase has two stages towards its middle.
TEST(CoreMesh, ALineSumsInTwoPhasesTowardsItsMiddle) {
    EXPECT_NEAR(core_line_sum_s(wafer(16, 16), 16, 0), (16 + 4 * 5) * 1e-9, 1e-15);
    EXPECT_NEAR(core_line_sum_s(wafer(16, 16), 16, 8), (16 + 4 * (5 + 8) + 8) * 1e-9, 1e-15);
    EXPECT_EQ(core_line_sum_s(wafer(1, 16), 1, 8), 0);
}

TEST(CoreMesh, SumsAreOfWhatAColumnOfCoresMakes) {
    const DeviceSpec device = wafer(16, 64);
    // 128 numbers over 64 columns are two halves of a word each.
    EXPECT_NEAR(core_mesh_time(device, product(1, 128, 4096)).seconds(),
                core_line_sum_s(device, 16, 4),
                3e-12);
    EXPECT_NEAR(core_mesh_time(device, rmsnorm_forward(3, 64, kFp16, false)).seconds(),
                core_line_sum_s(device, 16, 12),
                3e-12);
    EXPECT_EQ(core_mesh_time(device, transpose(64, 64, kFp16)), Time{});
    const AttentionShape shape{
        .batch = 1, .seq_q = 1, .seq_kv = 320, .heads = 2, .kv_heads = 2, .head_dim = 64};
    EXPECT_NEAR(core_mesh_time(device, attention_forward(shape, kFp16)).seconds(),
                core_line_sum_s(device, 64, 80) + 2 * core_line_sum_s(device, 16, 4) +
                    core_line_sum_s(device, 16, 4),
                3e-12);
}

TEST(CoreMesh, TheCostModelUsesItWhereADeviceHasOne) {
    const auto table = read_efficiency_table(catalogue_path("kernel_efficiency.csv"));
    ASSERT_TRUE(table);
    DeviceSpec device = wafer(16, 16);
    const KernelCall call = product(1, 4096, 4096);
    EXPECT_EQ(CostModel(device, *table).time(call).duration, core_mesh_time(device, call));
    device.core_hop_latency = 2_ns;
    EXPECT_GT(CostModel(device, *table).time(call).duration, core_mesh_time(wafer(16, 16), call));
}

}  // namespace core_mesh_test
}  // namespace orrery
