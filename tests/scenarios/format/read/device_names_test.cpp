// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/device_names.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "scenarios/format/catalogue/catalogue.h"

namespace orrery {
namespace {

struct Known {
    const char* name;  // as nvidia-smi -L gives it
    double gib;        // of memory.total
    const char* device;
};
constexpr Known kKnown[] = {
    {"NVIDIA GB200", 184, "gb200"},
    {"NVIDIA B200", 178.8, "b200"},
    {"NVIDIA H200", 140.4, "h200"},
    {"NVIDIA H800", 79.6, "h800"},
    {"NVIDIA H100 80GB HBM3", 79.6, "h100-80g"},
    {"NVIDIA H100 PCIe", 79.6, "h100-pcie"},
    {"NVIDIA H100", 95.3, "h100-96g-hbm2e"},
    {"NVIDIA A100-SXM4-80GB", 80, "a100-80g"},
    {"NVIDIA A100 80GB PCIe", 80, "a100-80g"},
    {"NVIDIA A100-SXM4-40GB", 40, "a100-40g"},
    {"A100-SXM4-40GB", 39.6, "a100-40g"},
    {"NVIDIA A100-PCIE-40GB", 40, "a100-40g"},
    {"NVIDIA A800-SXM4-80GB", 80, "a800-80g"},
    {"Tesla V100-SXM2-32GB", 31.7, "v100-32g"},
    {"Tesla V100-SXM2-16GB", 15.8, "v100-16g"},
    {"NVIDIA GeForce RTX 4090", 24, "rtx-4090"},
    {"NVIDIA GeForce RTX 3090", 24, "rtx-3090"},
    {"NVIDIA RTX PRO 6000 Blackwell Server Edition", 95, "rtx-pro-6000"},
    {"NVIDIA L40S", 45, "l40s"},
    {"NVIDIA TITAN RTX", 24, "titan-rtx"},
    {"Tesla K40m", 11.2, "k40"},
    {"Tesla K40c", 11.2, "k40"},
    {"NVIDIA H200 NVL", 140, "h200-nvl"},
    {"NVIDIA GB300", 276, "gb300"},
    {"NVIDIA B300 SXM6 AC", 268, "b300"},
    {"NVIDIA GH200 480GB", 95, "gh200"},
    {"NVIDIA GH200 144G HBM3e", 140, "gh200-144gb"},
    {"NVIDIA H20", 95, "h20"},
    {"AMD Instinct MI300X", 192, "mi300x"},
    {"AMD Instinct MI325X", 256, "mi325x"},
};

TEST(DeviceNames, OfEveryGpuOfTheCatalogue) {
    std::set<std::string> found;
    for (const Known& known : kKnown) {
        const auto bytes = static_cast<std::uint64_t>(known.gib * (1 << 30));
        EXPECT_EQ(device_of_gpu(known.name, bytes), known.device) << known.name;
        found.insert(known.device);
    }
    for (const auto& entry : std::filesystem::directory_iterator{default_catalogue() / "devices"}) {
        const std::string device = entry.path().stem().string();
        EXPECT_TRUE(device == "cpu-core" || found.contains(device)) << device;
    }
}

TEST(DeviceNames, OfChipsThatOnlySoundLikeTheCatalogues) {
    for (const char* name : {"NVIDIA GeForce RTX 3090 Ti",
                             "NVIDIA L40",
                             "NVIDIA H800 PCIe",
                             "NVIDIA H100 NVL",
                             "Tesla V100S-PCIE-32GB",
                             "NVIDIA A100-SXM-64GB",
                             "NVIDIA A10",
                             "NVIDIA GeForce RTX 4090 Laptop GPU",
                             "NVIDIA GeForce RTX 4090 D",
                             "GeForce 256",
                             ""}) {
        const bool leonardo = std::string_view{name}.find("-64GB") != std::string_view::npos;
        const std::uint64_t gib = leonardo ? 64 : 94;
        EXPECT_EQ(device_of_gpu(name, gib << 30), "") << name;
        EXPECT_EQ(device_of_gpu(name, 0), "") << name;
    }
}

TEST(DeviceNames, WithoutTheMemoryGoByTheName) {
    EXPECT_EQ(device_of_gpu("NVIDIA A100-SXM4-80GB", 0), "a100-80g");
    EXPECT_EQ(device_of_gpu("NVIDIA A100-SXM4-40GB", 0), "a100-40g");
    EXPECT_EQ(device_of_gpu("NVIDIA H100 80GB HBM3", 0), "h100-80g");
    EXPECT_EQ(device_of_gpu("NVIDIA H100", 0), "h100-80g");
}

}  // namespace
}  // namespace orrery
