// SPDX-License-Identifier: Apache-2.0
// What rows of published measurements mean as scenarios.

#include <gtest/gtest.h>

#include <map>

#include "network/fabric/fabric.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/studies/validate/published_cases.h"

namespace orrery {
namespace {

const Catalogue& shipped() {
    static const Catalogue catalogue{ORRERY_SOURCE_DIR "/scenarios/catalogue"};
    return catalogue;
}

std::map<std::string, PublishedCase> training() {
    const auto rows =
        read_published_cases(ORRERY_SOURCE_DIR "/scenarios/catalogue/published/training.csv");
    EXPECT_TRUE(rows) << rows.error().front().to_string();
    std::map<std::string, PublishedCase> by_name;
    for (const PublishedCase& row : *rows) {
        by_name[row.name] = row;
    }
    return by_name;
}

TEST(CaseScenario, EveryDenseRowIsExpressible) {
    std::size_t dense = 0;
    for (const auto& [name, row] : training()) {
        const auto scenario = scenario_of(row, shipped());
        if (row.model.num_experts > 0) {
            continue;
        }
        ++dense;
        EXPECT_TRUE(scenario) << name << ": " << scenario.error().to_string();
        if (scenario) {
            EXPECT_EQ(scenario->cluster.num_gpus(), row.num_gpus) << name;
        }
    }
    EXPECT_EQ(dense, 281U);
}

// catalogue/published/model_families.csv.
TEST(CaseScenario, FamiliesOfModelsHaveFactsThatTablesDoNotState) {
    PublishedCase row = training().at("MS-256-S");
    const auto model = [&](const char* name) {
        row.model.name = name;
        return scenario_of(row, shipped()).value().model;
    };
    EXPECT_TRUE(model("qwen3-8b").qk_layernorm);
    EXPECT_EQ(model("qwen3-8b").activation_func_clamp_value, 0);
    EXPECT_EQ(model("gpt-oss-20b").activation_func_clamp_value, 7);
    EXPECT_TRUE(model("gpt-oss-20b").add_bias_linear);
    EXPECT_FALSE(model("gpt-175b").qk_layernorm);
    row.model.activation = Activation::swiglu;
    EXPECT_FALSE(model("llama-3-8b").add_bias_linear);
    EXPECT_TRUE(model("gpt-oss-20b").add_bias_linear);
}

// The shipped scenario files and the table's rows describe the same runs.
TEST(CaseScenario, MegaScaleRowsAreTheShippedScenarios) {
    ReadOptions options;
    options.catalogue = ORRERY_SOURCE_DIR "/scenarios/catalogue";
    const auto rows = training();
    for (const auto& [name, file] :
         std::map<std::string, std::string>{{"MS-256-S", "megascale-175b-256"},
                                            {"MS-12288-S", "megascale-175b-12288"},
                                            {"MS-1024-M", "megatron-175b-1024"},
                                            {"MS-8192-M", "megatron-175b-8192"}}) {
        const auto row = scenario_of(rows.at(name), shipped());
        auto scenario = read_scenario(ORRERY_SOURCE_DIR "/scenarios/" + file + ".yaml", options);
        ASSERT_TRUE(row && scenario) << name;
        scenario->model.name = row->model.name;
        EXPECT_EQ(row->model, scenario->model) << name;
        EXPECT_EQ(row->plan, scenario->plan) << name;
        EXPECT_EQ(row->cluster.fabric.uplink_bandwidth, scenario->cluster.fabric.uplink_bandwidth);
        EXPECT_EQ(row->cluster.fabric.name, scenario->cluster.fabric.name);
        EXPECT_EQ(row->device.name, scenario->device.name);
        EXPECT_EQ(row->cluster.slow_node_share, scenario->cluster.slow_node_share);
        EXPECT_EQ(row->cluster.slow_node_slowdown, scenario->cluster.slow_node_slowdown);
    }
}

TEST(CaseScenario, AFeatureIsANormOfTheEmbedding) {
    PublishedCase row = training().at("MS-256-S");
    EXPECT_FALSE(scenario_of(row, shipped()).value().model.embed_layernorm);
    row.features += ";embed_layernorm";
    EXPECT_TRUE(scenario_of(row, shipped()).value().model.embed_layernorm);
}

TEST(CaseScenario, FabricWordsBecomeFabrics) {
    PublishedCase row = training().at("MS-256-M");
    row.plan = {.tensor_model_parallel_size = 8,
                .micro_batch_size = 1,
                .global_batch_size = row.plan.global_batch_size};
    row.num_gpus = 64;
    row.nic_gbps_per_gpu = 50;
    const auto fabric = [&row]() -> Result<FabricSpec> {
        const auto scenario = scenario_of(row, shipped());
        return scenario ? Result<FabricSpec>{scenario->cluster.fabric}
                        : unexpected<Error>(scenario.error());
    };
    row.fabric = "opa-x4";
    const auto opa = fabric();
    ASSERT_TRUE(opa);
    EXPECT_EQ(opa->nics_per_node, 4U);
    EXPECT_EQ(opa->nic_bandwidth.bits_per_second(), 100'000'000'000);
    row.fabric = "ib-hdr200-rail";
    row.nic_gbps_per_gpu = 100;
    const auto half = fabric();
    ASSERT_TRUE(half);
    EXPECT_EQ(half->kind, FabricKind::rail);
    EXPECT_EQ(half->nic_bandwidth, half->uplink_bandwidth);
    row.fabric = "infiniband";
    const auto unknown = fabric();
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().what,
              "fabric 'infiniband' begins with none of ib, eth, efa, opa, nvl, unknown");
    row.fabric = "";
    EXPECT_FALSE(fabric());
    row.num_gpus = 8;
    EXPECT_TRUE(fabric());
}

TEST(CaseScenario, ForksOfMegatronHaveItsDropout) {
    PublishedCase row = training().at("MS-256-M");
    const auto dropout_of = [&](const char* stack) {
        row.stack = stack;
        const auto scenario = scenario_of(row, shipped());
        EXPECT_TRUE(scenario) << stack << ": " << scenario.error().to_string();
        return scenario ? scenario->model.dropout : -1;
    };
    EXPECT_EQ(dropout_of("megatron-lm"), 0.1);
    EXPECT_EQ(dropout_of("deepspeed"), 0.1);
    EXPECT_EQ(dropout_of("torchtitan"), 0);
}

// Of the catalogue's model of the row's name, or of the longest name that begins it.
TEST(CaseScenario, RoutersChooseAsTheCataloguesModelsDo) {
    PublishedCase row = training().at("MS-256-M");
    const auto model_of = [&](const std::string& name, std::int64_t experts) {
        row.model.name = name;
        row.model.num_experts = experts;
        row.model.moe_router_topk = 8;
        row.plan.expert_tensor_parallel_size = 1;
        const auto scenario = scenario_of(row, shipped());
        EXPECT_TRUE(scenario) << name << ": " << scenario.error().to_string();
        return scenario ? scenario->model : Transformer{};
    };
    const Transformer deepseek = model_of("deepseek-v3", 256);
    EXPECT_EQ(deepseek.moe_router_num_groups, 8);
    EXPECT_EQ(deepseek.moe_router_group_topk, 4);
    EXPECT_EQ(deepseek.moe_router_score_function, RouterScoreFunction::sigmoid);
    EXPECT_GT(deepseek.moe_router_bias_update_rate, 0);
    EXPECT_EQ(model_of("moonlight-16b-a3b", 64).moe_router_score_function,
              RouterScoreFunction::sigmoid);
    EXPECT_EQ(model_of("deepseek-v3", 64).moe_router_num_groups, 0);
    EXPECT_EQ(model_of("gpt", 64).moe_router_score_function, RouterScoreFunction::softmax);
}

// A row says what a tray has; the NVLink domain is the rack.
TEST(CaseScenario, TraysOfGb200ShareARacksNvlink) {
    PublishedCase row = training().at("MS-256-M");
    row.gpu = "gb200";
    row.gpus_per_node = 4;
    row.features = "";  // the paper's attention kernel is none of Blackwell's
    row.fabric = "ib-ndr400-rail";
    row.nic_gbps_per_gpu = 400;
    const auto cluster_of = [&](std::int64_t gpus) {
        row.num_gpus = gpus;
        row.plan.global_batch_size = 768 * gpus;
        const auto scenario = scenario_of(row, shipped());
        EXPECT_TRUE(scenario) << gpus << ": " << scenario.error().to_string();
        return scenario ? scenario->cluster : ClusterSpec{};
    };
    const struct {
        std::int64_t gpus;
        std::uint32_t racks, trays;
    } cases[] = {{64, 1, 16}, {128, 2, 16}, {256, 4, 16}, {576, 8, 18}, {1088, 16, 17}};
    for (const auto& [gpus, racks, trays] : cases) {
        const ClusterSpec cluster = cluster_of(gpus);
        EXPECT_EQ(cluster.num_nodes, racks) << gpus;
        EXPECT_EQ(cluster.node.trays, trays) << gpus;
        EXPECT_EQ(cluster.num_ranks(), gpus);
        EXPECT_EQ(cluster.fabric.nics_per_node, 4 * trays) << gpus;
        EXPECT_EQ(cluster.fabric.nic_bandwidth.bits_per_second(), 400'000'000'000);
        EXPECT_TRUE(check_cluster(cluster));
    }
    row.num_gpus = 66;
    const auto part = scenario_of(row, shipped());
    ASSERT_FALSE(part);
    EXPECT_NE(part.error().what.find("66 GPUs are not whole trays of 4"), std::string::npos);
    row.num_gpus = 0;
    const auto none = scenario_of(row, shipped());
    ASSERT_FALSE(none);
    EXPECT_NE(none.error().what.find("0 GPUs on servers of"), std::string::npos);
    // Inside one rack no NIC is needed.
    row.fabric = "";
    row.nic_gbps_per_gpu = 0;
    EXPECT_EQ(cluster_of(64).num_nodes, 1U);
    // Elsewhere a node is a server, with the row's NICs.
    PublishedCase hopper = training().at("MS-256-M");
    hopper.gpu = "h100-80g";
    hopper.fabric = "ib-ndr400-rail";
    hopper.nic_gbps_per_gpu = 400;
    EXPECT_EQ(scenario_of(hopper, shipped())->cluster.fabric.nics_per_node, 8u);
}

TEST(CaseScenario, UnknownWordsAndGpusAreReasonsNotGuesses) {
    PublishedCase row = training().at("MS-256-M");
    row.features = "warp_drive";
    EXPECT_EQ(scenario_of(row, shipped()).error().what, "feature 'warp_drive' is not expressible");
    row.features = "";
    row.plan.tensor_model_parallel_size = 7;
    EXPECT_EQ(scenario_of(row, shipped()).error().what.substr(0, 33),
              "plan.tensor_model_parallel_size 7");
    row.plan.tensor_model_parallel_size = 8;
    row.gpu = "a100-81g";
    EXPECT_EQ(scenario_of(row, shipped()).error().what,
              "published/servers.csv of the catalogue has no gpu 'a100-81g'");
    row.gpu = "a100-80g";
    row.num_gpus = 250;
    EXPECT_FALSE(scenario_of(row, shipped()));
}

}  // namespace
}  // namespace orrery
