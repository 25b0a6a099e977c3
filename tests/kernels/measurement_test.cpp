// SPDX-License-Identifier: Apache-2.0
#include "kernels/measurement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>

#include "kernels/attention/attention.h"
#include "tests/kernels/devices.h"

namespace orrery {
namespace {

std::vector<Measurement> committed_rows() {
    std::vector<Measurement> all;
    for (const char* file : kMeasurementFiles) {
        const auto rows = read_measurements(catalogue_path(file), measured_devices());
        EXPECT_TRUE(rows) << rows.error()[0].to_string();
        all.insert(all.end(), rows->begin(), rows->end());
    }
    return all;
}

TEST(Measurements, TurnSingleKernelsIntoCallsAndLeaveGroupsOut) {
    std::map<std::string, int> families;
    for (const Measurement& row : committed_rows()) {
        ++families[row.family];
        EXPECT_FALSE(row.calls.empty()) << row.name;
        EXPECT_GT(row.seconds, 0) << row.name;
    }
    EXPECT_EQ(families["gemm"], 5 + 35 + 6);
    EXPECT_EQ(families["attention"],
              96 + 34 - 12 - 4 + 250 + 10 + 18);  // unfused; other value heads
    EXPECT_EQ(families["unfused_attention"], 12);
    EXPECT_EQ(families["memory"], 16 + 9 + 40);
    EXPECT_EQ(families.size(), 4U);
}

TEST(Measurements, ForwardAndBackwardAreTwoCalls) {
    for (const Measurement& row : committed_rows()) {
        if (row.name == "fa2-a100-80g-fwdbwd-d64-causal-s2048") {
            ASSERT_EQ(row.calls.size(), 2U);
            EXPECT_EQ(row.calls[1].kind, KernelKind::attention_backward);
            EXPECT_EQ(attention_shape(row.calls[0]).generation, AttentionGeneration::flash_2);
            EXPECT_NEAR((row.calls[0].flop + row.calls[1].flop) / row.seconds, 140e12, 1e12);
            return;
        }
    }
    FAIL() << "the row is missing";
}

TEST(Measurements, LatentAttentionHasSmallerValueHeads) {
    for (const Measurement& row : committed_rows()) {
        if (row.name == "cudnn-gb200-dsv3-bf16-fwd-causal-s4096") {
            EXPECT_EQ(attention_shape(row.calls[0]).value_dim, 128);
            EXPECT_NEAR(row.calls[0].flop / row.seconds, 1406e12, 2e12);
            return;
        }
    }
    FAIL() << "the row is missing";
}

TEST(Measurements, NameTheLineOfAMistake) {
    const std::string path = testing::TempDir() + "/measurement_test.csv";
    std::ofstream(path) << "case,family,gpu,kernel,variant,pass,dtype,m,n,k,batch,seq,heads,"
                           "kv_heads,head_dim,causal,tp,time_us,tflops,source,notes\n"
                           "a,f,h200,gemm,v,forward,bf16,1,2,x,,,,,,,1,5,,s,\n"
                           "b,f,h200,gemm,v,forward,half,1,2,3,,,,,,,1,5,,s,\n"
                           "c,f,h200,gemm,v,forward,bf16,1,2,3,,,,,,,1,0,,s,\n"
                           "d,f,unknown,gemm,v,forward,bf16,1,2,3,,,,,,,1,0,,s,\n";
    const auto rows = read_measurements(path, measured_devices());
    ASSERT_FALSE(rows);
    ASSERT_EQ(rows.error().size(), 3U);
    EXPECT_NE(rows.error()[0].where.find(":2"), std::string::npos);
    EXPECT_NE(rows.error()[2].where.find(":4"), std::string::npos);
}

TEST(Measurements, DevicesOfTheseTestsAgreeWithTheCatalogue) {
    for (const auto& [name, device] : measured_devices()) {
        std::ifstream file(catalogue_path("devices/" + name + ".yaml"));
        ASSERT_TRUE(file.good()) << name;
        std::stringstream text;
        text << file.rdbuf();
        const auto expect = [&](const char* format, double value) {
            std::array<char, 80> line{};
            std::snprintf(line.data(), line.size(), format, value);
            EXPECT_NE(text.str().find(line.data()), std::string::npos)
                << name << ": " << line.data();
        };
        expect("peak_fp16: %g TFLOPS", device.peak_fp16.per_second() / 1e12);
        expect("peak_fp32: %g TFLOPS", device.peak_fp32.per_second() / 1e12);
        expect("peak_fp8: %g TFLOPS", device.peak_fp8.per_second() / 1e12);
        expect("memory_bandwidth: %g GB/s", device.memory_bandwidth.gigabytes_per_second());
        expect("num_sms: %g ", device.num_sms);
        expect("compute_capability: %g ", device.compute_capability);
        expect("kernel_latency: %g us", device.kernel_latency.microseconds());
        EXPECT_NE(text.str().find("generation: " + device.generation + "\n"), std::string::npos);
    }
}

}  // namespace
}  // namespace orrery
