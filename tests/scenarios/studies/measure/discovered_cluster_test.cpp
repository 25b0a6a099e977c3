// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/measure/discovered_cluster.h"

#include <gtest/gtest.h>

#include "scenarios/format/document/yaml_document.h"
#include "scenarios/format/read/device_names.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/studies/simulate/simulate_scenario.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

constexpr const char* kRest =
    "model: {num_layers: 2, hidden_size: 64, num_attention_heads: 2, seq_length: 32,"
    " vocab_size: 256}\n"
    "plan: {micro_batch_size: 1, global_batch_size: 16, precision: fp32}\n"
    "job: {steps: 5, dataset: text.txt}\n";

// What was discovered can be simulated.
Scenario read(const TestFolder& folder, const DocumentNode& document) {
    folder.write("text.txt", "text");
    const std::string cluster = to_yaml(document);
    const auto scenario = read_scenario(folder.write("s.yaml", cluster + kRest));
    if (!scenario) {
        ADD_FAILURE() << cluster << scenario.error()[0].to_string();
        return {};
    }
    EXPECT_TRUE(simulate_scenario(*scenario));
    return *scenario;
}

TEST(DiscoveredCluster, OfCoresIsAClusterThatCanBeSimulatedAndTrained) {
    const TestFolder folder;
    const HostMachine machine{
        .host = "h", .cpu = "AMD: EPYC # 9", .cores = 4, .memory_bytes = 8LL << 30, .amd = true};
    const MachineRates rates{.gemm_fp32 = FlopRate::per_second(1.1e11),
                             .memory = Bandwidth::bytes_per_second(12'000'000'000),
                             .message_latency = Time::seconds(25e-6),
                             .message_bandwidth = Bandwidth::bytes_per_second(1'500'000'000)};
    const Scenario scenario = read(folder, cpu_cluster(machine, rates));
    EXPECT_EQ(scenario.cluster.num_gpus(), 4U);
    EXPECT_EQ(scenario.device.name, "cpu-core");  // as profiles name it
    EXPECT_EQ(scenario.device.generation, "cpu");
    EXPECT_NEAR(scenario.device.peak_fp32.per_second(), 1.1e11, 1e8);
    EXPECT_EQ(scenario.device.memory, Bytes{2LL << 30});
    EXPECT_EQ(scenario.cluster.node.pcie_bandwidth, Bandwidth::bytes_per_second(1'500'000'000));
    EXPECT_EQ(scenario.cluster.node.pcie_latency, Time::seconds(25e-6));
    ReadOptions training;
    training.for_training = true;
    EXPECT_TRUE(read_scenario(folder / "s.yaml", training));
}

TEST(DiscoveredCluster, OfGpusHasTheirLinks) {
    const TestFolder folder;
    const NvmlGpu gpu{.name = "NVIDIA H100 80GB HBM3",
                      .memory_bytes = 80ULL << 30U,
                      .compute_capability = 90,
                      .nvlinks = 18,
                      .pcie_generation = 5,
                      .pcie_width = 16};
    const auto eight = gpu_cluster(std::vector(8, gpu), std::nullopt);
    ASSERT_TRUE(eight);
    const Scenario scenario = read(folder, *eight);
    EXPECT_EQ(scenario.device.name, "h100-80g");
    EXPECT_EQ(scenario.cluster.node.intra_node, IntraNodeKind::nvswitch);
    EXPECT_EQ(scenario.cluster.node.nvlink_bandwidth, Bandwidth::bytes_per_second(450'000'000'000));
    EXPECT_TRUE(scenario.cluster.node.nvls);
    NvmlGpu plain = gpu;
    plain.nvlinks = 0;
    EXPECT_EQ(read(folder, *gpu_cluster({plain}, std::nullopt)).cluster.node.intra_node,
              IntraNodeKind::pcie);
    const NcclMachine topology{.gpus = 2,
                               .compute_capability = 90,
                               .nvlinks_per_gpu = 12,
                               .sockets = 2,
                               .nics = 2,
                               .nic_megabits = 400'000};
    const Scenario two = read(folder, *gpu_cluster({gpu, gpu}, topology));
    EXPECT_EQ(two.cluster.node.intra_node, IntraNodeKind::nvlink_mesh);
    EXPECT_EQ(two.cluster.node.num_sockets, 2U);
    EXPECT_EQ(two.cluster.fabric.nics_per_node, 2U);
}

TEST(DiscoveredCluster, GpusThatTheCatalogueLacksOrThatDifferAreErrors) {
    EXPECT_FALSE(gpu_cluster({{.name = "Tesla K80"}}, std::nullopt));
    EXPECT_FALSE(gpu_cluster({{.name = "NVIDIA H200"}, {.name = "NVIDIA B200"}}, std::nullopt));
}

TEST(DiscoveredCluster, KnowsTheCataloguesGpusByTheirNames) {
    EXPECT_EQ(device_of_gpu("NVIDIA A100-SXM4-40GB", 40ULL << 30U), "a100-40g");
    EXPECT_EQ(device_of_gpu("NVIDIA A100-SXM4-80GB", 80ULL << 30U), "a100-80g");
    EXPECT_EQ(device_of_gpu("NVIDIA GB200", 0), "gb200");
    EXPECT_EQ(device_of_gpu("NVIDIA B200", 0), "b200");
    EXPECT_EQ(device_of_gpu("NVIDIA H200", 0), "h200");
    EXPECT_EQ(device_of_gpu("GeForce 256", 0), "");
}

TEST(DiscoveredCluster, FilesNothingUnderAnotherGpusName) {
    constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
    EXPECT_TRUE(check_filed_under("h200", "NVIDIA H200", 140 * kGiB));
    EXPECT_TRUE(check_filed_under("h100-80g", "NVIDIA H100 80GB HBM3", 80 * kGiB));
    const auto other = check_filed_under("h100-80g", "NVIDIA H200", 140 * kGiB);
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().where, "cluster.node");
    EXPECT_NE(other.error().hint.find("h200"), std::string::npos);
    // A GPU that the catalogue has not: under a name of its own only.
    EXPECT_FALSE(check_filed_under("h100-80g", "NVIDIA X1", 140 * kGiB));
    EXPECT_TRUE(check_filed_under("x1", "NVIDIA X1", 140 * kGiB));
}

TEST(DiscoveredCluster, ANodeOfOneGpuIsAnyGpuOfTheCatalogue) {
    for (const char* device : {"h200", "a100-80g"}) {
        ReadOptions read;
        read.overrides = {node_of_one_gpu(device)};
        const auto scenario =
            read_scenario(ORRERY_SOURCE_DIR "/scenarios/gpt2-124m-1gpu.yaml", read);
        ASSERT_TRUE(scenario) << scenario.error().front().to_string();
        EXPECT_EQ(scenario->device.name, device);
        EXPECT_EQ(scenario->cluster.num_gpus(), 1);
    }
}

}  // namespace
}  // namespace orrery
