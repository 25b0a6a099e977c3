// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/chain_prices.h"

#include <gtest/gtest.h>

#include "scenarios/format/read/reader.h"
#include "scenarios/studies/serve/serving_study.h"

namespace orrery {
namespace {

// A desktop with half of the model in its GPU and half in its memory, and a laptop.
std::string home(const std::string& desktop_memory, const std::string& pools) {
    const std::string device =
        "{generation: ampere, compute_capability: 86, num_sms: 46, peak_fp32: 20 TFLOPS, "
        "peak_fp16: 40 TFLOPS, memory_bandwidth: 448 GB/s, memory: 8 GiB, kernel_latency: 2 us, "
        "launch_cost: 5 us, graph_launch_cost: 1 us}";
    const auto node = [&](const std::string& name, const std::string& memory) {
        return "{name: " + name + ", device: " + device +
               ", gpus_per_node: 1, intra_node: pcie, pcie_bandwidth: 16 GB/s, host_memory: " +
               memory +
               ", host_memory_bandwidth: 50 GB/s, nvme_drives: 1, nvme_read_bandwidth: 3 GB/s, "
               "nvme_write_bandwidth: 3 GB/s}";
    };
    return "kind: serving\ncluster:\n  kinds:\n    - {nodes: 1, node: " +
           node("desktop", desktop_memory) + "}\n    - {nodes: 1, node: " + node("laptop", "8 GB") +
           "}\n  fabric: {kind: single_switch, nics_per_node: 1, nic_bandwidth: 300 Mbps, "
           "nic_latency: 1 ms}\nmodel: llama-3-8b\nserving: {engine: vllm-v1, pools: " +
           pools +
           "}\nworkload: {num_requests: 2, request_rate: 0.1, input_tokens: 16, output_tokens: "
           "8}\n";
}

Scenario read_home(const std::string& desktop_memory, const std::string& pools) {
    ReadOptions options;
    options.serving = true;
    options.catalogue = ORRERY_SOURCE_DIR "/scenarios/catalogue";
    auto read = read_scenario_text(home(desktop_memory, pools), "h.yaml", ".", options);
    return std::move(read).value();
}

double token_s(const std::string& desktop_memory, const std::string& pools) {
    const Scenario scenario = read_home(desktop_memory, pools);
    const auto requests = requests_of(scenario.workload).value();
    return serve_scenario(scenario, scenario.serving, requests, {}).value().tpot_s.mean;
}

// 16 GB of weights: some 6 GB in the GPU, and 10 GB at 50 GB/s take 0.2 s; from the disk 3.3 s.
TEST(ChainPrices, ATokenReadsTheLayersWhereTheyAre) {
    const double in_memory = token_s("32 GB", "{chain: one_node}");
    EXPECT_GT(in_memory, 0.15);
    EXPECT_LT(in_memory, 0.3);
    const double from_disk = token_s("4 GB", "{chain: one_node}");
    EXPECT_GT(from_disk, 2.5);
    EXPECT_LT(from_disk, 4.5);
    // The laptop's GPU takes layers from the desktop's memory.
    EXPECT_LT(token_s("32 GB", "{chain: ring}"), 0.8 * in_memory);
    EXPECT_LT(token_s("4 GB", "{chain: ring}"), 0.2 * from_disk);
    // Scales take room and time.
    EXPECT_GT(token_s("32 GB", "{chain: one_node, weight_bits: 8, weight_scale_bits: 0.9}"),
              1.02 * token_s("32 GB", "{chain: one_node, weight_bits: 8}"));
    // A quarter of the bits is read in less time, and more of them fit into GPUs.
    EXPECT_LT(token_s("32 GB", "{chain: one_node, weight_bits: 4}"), 0.25 * in_memory);
}

// A model that fits leaves room for the output layer, whatever its number of layers.
TEST(ChainPrices, ASmallModelIsInTheDevicesMemory) {
    const Scenario scenario = read_home("32 GB", "{chain: one_node, weight_bits: 4}");
    const auto requests = requests_of(scenario.workload).value();
    const auto nodes = serve_scenario(scenario, scenario.serving, requests, {}).value().chain;
    ASSERT_EQ(nodes.size(), 1U);
    EXPECT_EQ(nodes[0].device_layers, 32);
    EXPECT_TRUE(nodes[0].output);
}

// llama.cpp's products of one row read their weights; the curves' tiles would be nearly empty.
TEST(ChainPrices, ATokenOfLlamaCppReadsItsWeights) {
    const Scenario scenario = read_home("32 GB", "{chain: one_node, weight_bits: 4}");
    ServingSpec llama_cpp = scenario.serving;
    llama_cpp.engine.name = "llama-cpp";
    const auto requests = requests_of(scenario.workload).value();
    const double own = serve_scenario(scenario, llama_cpp, requests, {}).value().tpot_s.mean;
    // 4 GB at 0.7 of 448 GB/s.
    EXPECT_GT(own, 0.0125);
    EXPECT_LT(own, 0.7 * token_s("32 GB", "{chain: one_node, weight_bits: 4}"));
}

// The hosts' processors multiply one row at a part of their memory's bandwidth.
TEST(ChainPrices, LayersOfHostsTakeTheEnginesShareOfTheBandwidth) {
    const auto tpot = [](const char* engine, const std::string& pools) {
        Scenario scenario = read_home("32 GB", pools);
        scenario.serving.engine.name = engine;
        scenario.serving.engine.host_per_step = {};
        const auto requests = requests_of(scenario.workload).value();
        return serve_scenario(scenario, scenario.serving, requests, {}).value().tpot_s.mean;
    };
    // 16 GB at 50 GB/s without a GPU, and at 0.82 of that.
    const std::string pools = "{chain: one_node, n_gpu_layers: 0}";
    EXPECT_NEAR(tpot("llama-cpp", pools) / tpot("vllm-v1", pools), 1 / 0.82, 0.01);
}

TEST(ChainPrices, AtMostNGpuLayersAreInTheDevicesMemory) {
    const Scenario scenario = read_home("32 GB", "{chain: one_node, n_gpu_layers: 5}");
    const auto requests = requests_of(scenario.workload).value();
    const auto nodes = serve_scenario(scenario, scenario.serving, requests, {}).value().chain;
    ASSERT_EQ(nodes.size(), 1U);
    EXPECT_EQ(nodes[0].device_layers, 5);
    EXPECT_EQ(nodes[0].host_layers, 27);
}

// 6 GB of the weights are in the GPU, and the page cache holds the rest if programs at rest make
// room.
TEST(ChainPrices, ProgramsAtRestMakeRoomForPages) {
    EXPECT_GT(token_s("8 GB", "{chain: one_node}"), 2.5);
    EXPECT_LT(token_s("8 GB", "{chain: one_node, resting_memory: 4 GB}"), 0.3);
}

TEST(ChainPrices, AFullRingNeedsALayerForEachNode) {
    Scenario scenario = read_home("32 GB", "{chain: full_ring}");
    scenario.model.num_layers = 1;
    const auto requests = requests_of(scenario.workload).value();
    const auto served = serve_scenario(scenario, scenario.serving, requests, {});
    ASSERT_FALSE(served);
    EXPECT_NE(served.error().to_string().find("each of 2 nodes"), std::string::npos);
}

TEST(ChainPrices, TheAnswerSaysWhichNodesHoldWhat) {
    const Scenario scenario = read_home("32 GB", "{chain: ring}");
    const auto requests = requests_of(scenario.workload).value();
    const auto nodes = serve_scenario(scenario, scenario.serving, requests, {}).value().chain;
    ASSERT_EQ(nodes.size(), 2U);
    EXPECT_EQ(nodes[0].node, "desktop");
    EXPECT_EQ(nodes[0].device_layers + nodes[0].host_layers + nodes[1].device_layers +
                  nodes[1].host_layers,
              32);
    EXPECT_NE(nodes[0].output, nodes[1].output);
}

TEST(ChainPrices, WhatAChainHasNotIsAnError) {
    ReadOptions options;
    options.serving = true;
    options.catalogue = ORRERY_SOURCE_DIR "/scenarios/catalogue";
    for (const std::string pools : {"{chain: ring, instances: 2}",
                                    "{chain: even, tensor_model_parallel_size: 2}",
                                    "{chain: one_node, pipeline_model_parallel_size: 2}"}) {
        const auto read = read_scenario_text(home("8 GB", pools), "h.yaml", ".", options);
        ASSERT_FALSE(read) << pools;
        EXPECT_NE(read.error().front().to_string().find("chain"), std::string::npos);
    }
    // Nodes of several kinds have no equal instances.
    const Scenario mixed = read_home("8 GB", "{}");
    const auto requests = requests_of(mixed.workload).value();
    EXPECT_FALSE(serve_scenario(mixed, mixed.serving, requests, {}));
}

TEST(ChainPrices, ACacheIsOfOneSequenceUnlessItsBlocksAreGiven) {
    Transformer model{.num_layers = 1};
    model.seq_length = 1000;
    EXPECT_EQ(chain_blocks(model, {.block_size = 16, .num_blocks = 0}), 64);
    EXPECT_EQ(chain_blocks(model, {.block_size = 16, .num_blocks = 7}), 7);
}

}  // namespace
}  // namespace orrery
