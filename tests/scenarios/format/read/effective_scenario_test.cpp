// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/effective_scenario.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "network/nccl/nccl_topology.h"
#include "scenarios/format/document/json_document.h"
#include "scenarios/format/provenance/stored_result.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/report/provenance_report.h"
#include "tests/network/dgx_clusters.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

using namespace literals;

// Reads what `scenario` leaves in a result.
Scenario read_back(const Scenario& scenario, const ReadOptions& options) {
    const std::string json = with_provenance("{}", provenance_of("simulate", scenario));
    const auto document = parse_json(json, "result.json");
    EXPECT_TRUE(document) << document.error()[0].to_string();
    const auto stored = stored_provenance(*document);
    EXPECT_TRUE(stored) << stored.error()[0].to_string();
    auto again = read_effective_scenario(
        stored->origin.effective, "elsewhere/result.json", stored->origin, options);
    EXPECT_TRUE(again) << again.error()[0].to_string();
    return again ? *again : Scenario{};
}

std::string block_of(const Scenario& scenario) {
    return provenance_json(provenance_of("simulate", scenario));
}

TEST(EffectiveScenario, OfEveryShippedScenarioReadsBackAsTheSame) {
    int read = 0;
    for (const auto& entry : std::filesystem::directory_iterator{ORRERY_SOURCE_DIR "/scenarios"}) {
        const std::string name = entry.path().filename().string();
        if (entry.path().extension() != ".yaml" || name.starts_with("sweep-")) {
            continue;
        }
        SCOPED_TRACE(name);
        ReadOptions options;
        options.network_only = name.starts_with("network-");
        options.serving = name.starts_with("serve-");
        options.several_jobs = true;
        const auto scenario = read_scenario(entry.path(), options);
        ASSERT_TRUE(scenario) << scenario.error()[0].to_string();
        const Scenario again = read_back(*scenario, options);
        EXPECT_EQ(block_of(again), block_of(*scenario));
        EXPECT_EQ(again.name, scenario->name);
        EXPECT_EQ(again.jobs.size(), scenario->jobs.size());
        EXPECT_TRUE(again.plan == scenario->plan);
        EXPECT_TRUE(again.model == scenario->model);
        EXPECT_EQ(again.job.seed, scenario->job.seed);
        EXPECT_EQ(again.faults.processes.size(), scenario->faults.processes.size());
        EXPECT_EQ(again.device.name, scenario->device.name);
        ++read;
    }
    EXPECT_GT(read, 20);
}

TEST(EffectiveScenario, HoldsTheFilesThatTheScenarioNames) {
    const TestFolder folder;
    folder.write(
        "node.xml",
        write_nccl_topology(dgx_h100(), with_nics(200_Gbps), 90, pci_of_device("h100-80g")));
    folder.write("cables.csv",
                 "from,to,bandwidth,latency\nnode 0 nic 0,switch,200 Gbps,500 ns\n"
                 "node 1 nic 0,switch,200 Gbps,500 ns\n");
    folder.write("faults.csv", "time_s,node,fault,duration_s,kind\n3600,1,gpu/lost,60,hardware\n");
    const std::string file = folder.write(
        "s.yaml",
        "cluster:\n  nodes: 2\n  node: {nccl_topology: node.xml}\n"
        "  fabric: {kind: file, file: cables.csv, nics_per_node: 1, nic_latency: 600 ns}\n"
        "faults: [{process: trace, file: faults.csv}]\n");
    const ReadOptions options{.network_only = true};
    const auto scenario = read_scenario(file, options);
    ASSERT_TRUE(scenario) << scenario.error()[0].to_string();
    for (const char* name : {"node.xml", "cables.csv", "faults.csv", "s.yaml"}) {
        std::filesystem::remove(folder / name);
    }
    const Scenario again = read_back(*scenario, options);
    EXPECT_EQ(again.cluster.node.nvlink_bandwidth, 450_GBps);
    EXPECT_EQ(again.cluster.node.name, "node");
    ASSERT_NE(again.cluster.fabric.cables, nullptr);
    EXPECT_EQ(again.cluster.fabric.nic_bandwidth, 200_Gbps);
    ASSERT_EQ(again.faults.processes.size(), 1u);
    EXPECT_EQ(again.faults.processes[0].events.size(), 1u);
    EXPECT_EQ(block_of(again), block_of(*scenario));
}

TEST(EffectiveScenario, HoldsFactorsOfCongestionUnderTheirName) {
    const TestFolder folder;
    const std::filesystem::path shipped =
        ORRERY_SOURCE_DIR "/scenarios/catalogue/congestion_controls";
    const std::filesystem::path first = *std::filesystem::directory_iterator{shipped};
    std::filesystem::copy_file(first, folder / "mine.yaml");
    const auto document = parse_json(R"({"network": {"congestion": "mine.yaml"}})", "s.yaml");
    ASSERT_TRUE(document);
    const DocumentNode effective = effective_scenario(*document, "s", folder.path());
    const DocumentNode* factors = effective.find("network")->find("congestion");
    ASSERT_TRUE(factors->is_map());
    EXPECT_EQ(factors->find("name")->text, "mine.yaml");
    EXPECT_NE(factors->find("ring"), nullptr);
    EXPECT_EQ(effective.find("name")->text, "s");
}

TEST(EffectiveScenario, JsonTakesAndGivesBackTheSameText) {
    for (const char* text : {"0", "-7", "8", "123456789012345", "0.5", "-12.25", "0.001", "true"}) {
        EXPECT_TRUE(is_json_value(text)) << text;
        EXPECT_EQ(nlohmann::json::parse(text).dump(), text);
    }
    for (const char* text : {"",
                             "-",
                             "-0",
                             "007",
                             "0.10",
                             "1e-4",
                             "0.0001",
                             ".5",
                             "5.",
                             "1.2.3",
                             "+5",
                             "12345678901234567890",
                             "200 Gbps",
                             "bf16",
                             "~",
                             "0x10"}) {
        EXPECT_FALSE(is_json_value(text)) << text;
    }
}

TEST(EffectiveScenario, QuotesSurviveWhereTheyMatter) {
    const auto document = parse_json(R"({"a": "8", "b": 8, "c": "200 Gbps", "d": "1e-4",
                                         "e": "null", "f": [true, "true"]})",
                                     "r.json");
    ASSERT_TRUE(document);
    const DocumentNode node = from_json_form(*document);
    EXPECT_TRUE(node.find("a")->is_string);
    EXPECT_FALSE(node.find("b")->is_string);
    EXPECT_FALSE(node.find("c")->is_string);
    EXPECT_FALSE(node.find("d")->is_string);
    EXPECT_TRUE(node.find("e")->is_string);
    EXPECT_FALSE(node.find("f")->items[0].is_string);
    EXPECT_TRUE(node.find("f")->items[1].is_string);
}

}  // namespace
}  // namespace orrery
