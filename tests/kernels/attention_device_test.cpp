// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention_device.h"

#include <gtest/gtest.h>

#include "kernels/attention/attention.h"
#include "kernels/efficiency.h"
#include "kernels/gemm/gemm.h"
#include "tests/kernels/devices.h"

namespace orrery {
namespace {

TEST(AttentionDevice, OnlyBlackwellUltraDiffersFromItsGeneration) {
    for (const auto& [name, device] : measured_devices()) {
        EXPECT_EQ(attention_device(device),
                  name.ends_with("b300") ? std::string{kBlackwellUltra} : device.generation)
            << name;
    }
}

TEST(AttentionDevice, FasterExponentialsMakeAttentionFasterAndNothingElse) {
    const auto table = read_efficiency_table(catalogue_path("kernel_efficiency.csv"));
    ASSERT_TRUE(table);
    DeviceSpec device = measured_devices().at("gb200");
    const EfficiencyCurves blackwell{*table, device};
    device.compute_capability = 103;
    const EfficiencyCurves ultra{*table, device};
    const KernelCall attention =
        attention_forward({.batch = 2,
                           .seq_q = 8192,
                           .seq_kv = 8192,
                           .heads = 64,
                           .kv_heads = 8,
                           .head_dim = 128,
                           .generation = AttentionGeneration::flash_3_or_cudnn},
                          Dtype::bf16);
    const double ratio = blackwell.time(attention).seconds / ultra.time(attention).seconds;
    EXPECT_NEAR(ratio, 1397.0 / 1185.0, 0.1);  // as measured
    const KernelCall product =
        gemm(4096, 4096, 4096, 1, Dtype::bf16, GemmEpilogue::none, Dtype::bf16);
    EXPECT_EQ(blackwell.time(product).seconds, ultra.time(product).seconds);
}

}  // namespace
}  // namespace orrery
