// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/scenarios/sections.h"

namespace orrery {
namespace read_device_test {

using namespace orrery::literals;

const std::string kDevice = R"(name: toy
generation: ampere
compute_capability: 80
num_sms: 100
peak_fp32: 10 TFLOPS
peak_fp16: 100 TFLOPS
bf16: false
peak_fp8: 200 TFLOPS
attention_kernels: [unfused, flash_3]
memory_bandwidth: 1 TB/s
memory: 16 GiB
kernel_latency: 1 us
launch_cost: 5 us
graph_launch_cost: 2 us
)";

std::string device_errors(const std::string& text, DeviceSpec* device = nullptr) {
    Errors errors;
    DeviceSpec ignored;
    read_device(section_of(text), "it", device != nullptr ? *device : ignored, errors);
    return lines_of(errors);
}

// kDevice without the line of a key ("memory", which "memory_bandwidth" begins with, too).
std::string without_line(const std::string& key) {
    std::string text = kDevice;
    const std::size_t at = text.find("\n" + key + ":");
    return text.erase(at, text.find('\n', at + 1) - at);
}

TEST(ReadDevice, EveryKeyReachesItsField) {
    DeviceSpec d;
    ASSERT_EQ(device_errors(kDevice, &d), "");
    EXPECT_EQ(d.name, "toy");
    EXPECT_EQ(d.generation, "ampere");
    EXPECT_EQ(d.compute_capability, 80U);
    EXPECT_EQ(d.num_sms, 100U);
    EXPECT_EQ(d.peak_fp32.per_second(), 10e12);
    EXPECT_EQ(d.peak_fp16.per_second(), 100e12);
    EXPECT_FALSE(d.bf16);
    EXPECT_EQ(d.peak_fp8.per_second(), 200e12);
    EXPECT_EQ(d.attention_kernels, (std::vector<std::string>{"unfused", "flash_3"}));
    EXPECT_EQ(d.memory_bandwidth.bits_per_second(), 8'000'000'000'000);
    EXPECT_EQ(d.memory, 16_GiB);
    EXPECT_EQ(d.kernel_latency, 1_us);
    EXPECT_EQ(d.launch_cost, 5_us);
    EXPECT_EQ(d.graph_launch_cost, 2_us);
}

TEST(ReadDevice, AMeshHasBothSidesAndLinks) {
    const std::string whole =
        "core_mesh_rows: 360\ncore_mesh_columns: 300\n"
        "core_link_bandwidth: 4.4 GB/s\n";
    DeviceSpec d;
    ASSERT_EQ(
        device_errors(kDevice + whole + "core_hop_latency: 1 ns\ncore_step_latency: 5 ns\n", &d),
        "");
    EXPECT_EQ(d.core_mesh_rows, 360U);
    EXPECT_EQ(d.core_mesh_columns, 300U);
    EXPECT_EQ(d.core_hop_latency, 1_ns);
    EXPECT_EQ(d.core_step_latency, 5_ns);
    EXPECT_EQ(d.core_link_bandwidth.bits_per_second(), 35'200'000'000);
    for (const char* part : {"core_mesh_rows: 360\n",
                             "core_mesh_columns: 360\n",
                             "core_hop_latency: 1 ns\n",
                             "core_step_latency: 1 ns\n",
                             "core_link_bandwidth: 1 GB/s\n",
                             "core_mesh_rows: 2\ncore_mesh_columns: 2\n"}) {
        EXPECT_NE(device_errors(kDevice + part).find("a mesh of cores has rows"), std::string::npos)
            << part;
    }
}

TEST(ReadDevice, PowerIsInWatts) {
    DeviceSpec d;
    ASSERT_EQ(device_errors(kDevice + "power: 700 W\npower_limit: 500 W\n", &d), "");
    EXPECT_EQ(d.power, 700);
    EXPECT_EQ(d.power_limit, 500);
    EXPECT_EQ(device_errors(kDevice + "power: 700\n"),
              "s.yaml:15:1: error: it.power can't be '700' (hint: a whole number of watts: 500 "
              "W)\n");
    EXPECT_EQ(device_errors(kDevice + "power_limit: 500 W\n"),
              "s.yaml:15:1: error: it.power_limit says nothing without the power of the product "
              "(hint: add 'power: 700 W')\n");
}

TEST(ReadDevice, OnlyItsNameAndFp8MayBeAbsent) {
    EXPECT_EQ(device_errors(without_key(without_key(kDevice, "name"), "peak_fp8")), "");
    for (const char* key : {"generation",
                            "compute_capability",
                            "num_sms",
                            "peak_fp32",
                            "peak_fp16",
                            "memory_bandwidth",
                            "memory",
                            "kernel_latency",
                            "launch_cost",
                            "graph_launch_cost"}) {
        EXPECT_NE(
            device_errors(without_line(key)).find(std::string{"'it' lacks the key '"} + key + "'"),
            std::string::npos)
            << key;
    }
}

TEST(ReadDevice, AttentionKernelsAreThoseOfAPlan) {
    std::string text = kDevice;
    text.replace(text.find("flash_3]"), 8, "flash_9]");
    EXPECT_NE(device_errors(text).find("it.attention_kernels can't be"), std::string::npos);
    EXPECT_NE(device_errors(text).find("a list out of unfused, flash_1, flash_2, flash_3, cudnn"),
              std::string::npos)
        << device_errors(text);
}

// Zeros are told even where the scenario has errors elsewhere.
TEST(ReadDevice, ZeroPeaksAndMemoryAreErrorsBesideOthers) {
    std::string text = kDevice;
    for (const char* key : {"peak_fp32", "peak_fp16"}) {
        text = without_key(text, key) + key + ": 0 TFLOPS\n";
    }
    text = without_key(text, "memory_bandwidth") + "memory_bandwidth: 0 GB/s\n";
    Errors errors{{"elsewhere", "is wrong", {}}};
    DeviceSpec device;
    read_device(section_of(text), "it", device, errors);
    ASSERT_EQ(errors.size(), 4U) << lines_of(errors);
    EXPECT_EQ(errors[1].what, "it.peak_fp32 must not be zero");
    EXPECT_EQ(errors[2].what, "it.peak_fp16 must not be zero");
    EXPECT_EQ(errors[3].what, "it.memory_bandwidth must not be zero");
}

}  // namespace read_device_test
}  // namespace orrery
