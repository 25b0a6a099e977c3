// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/catalogue/catalogue.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "models/transformer/transformer.h"
#include "scenarios/format/read/read_sections.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/studies/sweep/study.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

const Catalogue& shipped() {
    static const Catalogue catalogue{ORRERY_SOURCE_DIR "/scenarios/catalogue"};
    return catalogue;
}

DocumentNode word(const std::string& text) {
    DocumentNode node;
    node.kind = DocumentNode::Kind::scalar;
    node.text = text;
    return node;
}

std::string joined(const Errors& errors) {
    std::string text;
    for (const Error& error : errors) {
        text += error.to_string() + "\n";
    }
    return text;
}

TEST(CatalogueTest, IsFoundBesideAProgramThatWasCarried) {
    const TestFolder folder;
    const fs::path program = folder.path() / "bin" / "orrery";
    EXPECT_EQ(catalogue_beside(program), fs::path{});
    const fs::path installed = folder.path() / "share" / "orrery" / "scenarios" / "catalogue";
    fs::create_directories(installed);
    EXPECT_EQ(catalogue_beside(program), installed);
    fs::create_directories(folder.path() / "scenarios" / "catalogue");
    EXPECT_EQ(catalogue_beside(program), folder.path() / "scenarios" / "catalogue");
}

template <class Read>
void read_all(std::string_view section, std::size_t least, const Read& read) {
    const auto names = shipped().names(section);
    EXPECT_GE(names.size(), least);
    for (const std::string& name : names) {
        Errors errors;
        const DocumentNode map = shipped().resolve(word(name), section, "entry", errors);
        if (map.is_map()) {
            read(map, name, errors);
        }
        EXPECT_TRUE(errors.empty()) << name << "\n" << joined(errors);
    }
}

TEST(ShippedCatalogue, EveryDeviceReadsUnderItsFileName) {
    read_all("devices", 7, [](const DocumentNode& map, const std::string& name, Errors& errors) {
        DeviceSpec device;
        read_device(map, "device", device, errors);
        EXPECT_EQ(device.name, name);
    });
}

TEST(ShippedCatalogue, EveryNodeReadsAndItsDeviceExists) {
    const auto devices = shipped().names("devices");
    read_all("nodes", 10, [&](const DocumentNode& map, const std::string& name, Errors& errors) {
        NodeSpec node;
        read_node(map, "node", node, errors);
        EXPECT_EQ(node.name, name);
        EXPECT_TRUE(std::binary_search(devices.begin(), devices.end(), map.find("device")->text))
            << name;
    });
}

TEST(ShippedCatalogue, EveryFabricReads) {
    read_all("fabrics", 6, [](const DocumentNode& map, const std::string& name, Errors& errors) {
        FabricSpec fabric;
        read_fabric(map, "fabric", fabric, errors);
        EXPECT_EQ(fabric.name, name);
    });
}

// The parameter counts that the papers print.
TEST(ShippedCatalogue, ModelsHaveTheirPublishedParameterCounts) {
    const std::map<std::string, double> billions = {
        {"gpt-2-124m", 0.124},     {"gpt-2-350m", 0.355},       {"gpt-2-774m", 0.774},
        {"gpt-2-1558m", 1.558},    {"gpt-3.6b", 3.553},  // 12 layers * width^2, and the embedding
        {"gpt-22b", 22},           {"gpt-175b", 174.6},         {"gpt-530b", 529.6},
        {"gpt-1t", 1008},          {"megascale-175b", 175},     {"llama-2-7b", 6.738},
        {"llama-2-13b", 13.02},    {"llama-2-70b", 68.98},      {"llama-3-8b", 8.03},
        {"llama-3-70b", 70.55},    {"llama-3-405b", 405.8},     {"mixtral-8x7b", 46.70},
        {"mixtral-8x22b", 140.63}, {"qwen3-30b-a3b", 30.53},    {"moonlight-16b", 15.96},
        {"deepseek-v3", 671.03},   {"kimi-k2", 1026.41},        {"deepseek-v2", 235.74},
        {"qwen2.5-7b", 7.616},     {"qwen2.5-32b", 32.76},      {"qwen2.5-72b", 72.71},
        {"qwen3-8b", 8.191},       {"qwen3-32b", 32.76},        {"qwen3-235b-a22b", 235.09},
        {"mistral-7b", 7.248},     {"gemma-3-27b", 27.01},      {"glm-4.5-air", 106.85},
        {"gpt-oss-20b", 20.91},    {"gpt-oss-120b", 116.83},  // model card, table 1
        {"llama-4-scout", 107.8},  {"llama-4-maverick", 400.7},
    };
    read_all("models", 36, [&](const DocumentNode& map, const std::string& name, Errors& errors) {
        Transformer model;
        DocumentNode section = map;
        std::vector<std::string> remarks;
        read_model(section, shipped(), ".", model, remarks, errors);
        EXPECT_EQ(model.name, name);
        ASSERT_TRUE(billions.contains(name)) << name;
        const double count = static_cast<double>(num_parameters(model)) * 1e-9;
        EXPECT_NEAR(count / billions.at(name), 1, 0.006) << name;
    });
}

TEST(ShippedScenarios, AllReadAndAreNamedLikeTheirFiles) {
    ReadOptions options;
    options.several_jobs = true;
    options.catalogue = ORRERY_SOURCE_DIR "/scenarios/catalogue";
    std::size_t count = 0;
    for (const auto& entry : fs::directory_iterator{ORRERY_SOURCE_DIR "/scenarios"}) {
        if (entry.path().stem().string().starts_with("sweep-")) {
            EXPECT_TRUE(read_study(entry.path(), {})) << entry.path();
        } else if (entry.path().extension() == ".yaml") {
            // For `orrery network` a cluster is enough.
            options.network_only = entry.path().stem().string().starts_with("network-");
            options.serving = entry.path().stem().string().starts_with("serve-");
            const auto scenario = read_scenario(entry.path(), options);
            ASSERT_TRUE(scenario) << joined(scenario.error());
            EXPECT_EQ(scenario->name, entry.path().stem());
            ++count;
        }
    }
    EXPECT_GE(count, 12U);
}

TEST(ShippedScenarios, Gb200FillsItsLastRackPartly) {
    ReadOptions options;
    options.catalogue = ORRERY_SOURCE_DIR "/scenarios/catalogue";
    const auto scenario =
        read_scenario(ORRERY_SOURCE_DIR "/scenarios/llama3-405b-gb200.yaml", options);
    ASSERT_TRUE(scenario) << joined(scenario.error());
    const ClusterSpec& cluster = scenario->cluster;
    EXPECT_EQ(cluster.num_ranks(), 1024U);
    EXPECT_EQ(cluster.num_gpus(), 15U * 72);
    EXPECT_EQ(cluster.num_servers(), 15U * 18);
    EXPECT_EQ(cluster.gpus_per_server(), 4U);
    EXPECT_EQ(cluster.nics_per_server(), 4U);
    EXPECT_EQ(scenario->plan.data_parallel_size, 16);
    EXPECT_EQ(scenario->campaign.shape.nodes, 256U);
    EXPECT_EQ(scenario->campaign.shape.components(Scope::rack), 15U);
}

TEST(ShippedScenarios, MegaScaleHasThePublishedNumberOfGpus) {
    ReadOptions options;
    options.catalogue = ORRERY_SOURCE_DIR "/scenarios/catalogue";
    for (const std::uint32_t gpus : {256U, 1024U, 3072U, 12288U}) {
        const auto scenario = read_scenario(
            ORRERY_SOURCE_DIR "/scenarios/megascale-175b-" + std::to_string(gpus) + ".yaml",
            options);
        ASSERT_TRUE(scenario);
        EXPECT_EQ(scenario->cluster.num_gpus(), gpus);
        EXPECT_EQ(scenario->plan.data_parallel_size, gpus / 64);
        EXPECT_EQ(scenario->plan.global_batch_size, gpus < 3000 ? 768 : 6144);
    }
}

TEST(Catalogue, CirclesOfEntriesEnd) {
    const TestFolder folder;
    const fs::path& root = folder.path();
    fs::create_directories(root / "nodes");
    std::ofstream{root / "nodes" / "a.yaml"} << "base: b\n";
    std::ofstream{root / "nodes" / "b.yaml"} << "base: a\n";
    Errors errors;
    const DocumentNode map = Catalogue{root}.resolve(word("a"), "nodes", "node", errors);
    EXPECT_FALSE(map.is_map());
    ASSERT_EQ(errors.size(), 1U);
    EXPECT_EQ(errors[0].what, "node: too many entries stand on each other");
}

TEST(Catalogue, AnObjectReadsAnEntryOnceAndTheNextObjectAgain) {
    const TestFolder folder;
    const fs::path& root = folder.path();
    fs::create_directories(root / "nodes");
    const auto write = [&](const char* text) { std::ofstream{root / "nodes" / "a.yaml"} << text; };
    const auto gpus_in = [](const Catalogue& catalogue) {
        Errors errors;
        const DocumentNode map = catalogue.resolve(word("a"), "nodes", "node", errors);
        const DocumentNode* gpus = map.find("gpus");
        return gpus != nullptr ? gpus->text : "";
    };
    write("gpus: 4\n");
    const Catalogue first{root};
    const Catalogue copy = first;
    EXPECT_EQ(gpus_in(first), "4");
    write("gpus: 8\n");
    std::ofstream{root / "nodes" / "b.yaml"} << "gpus: 1\n";
    EXPECT_EQ(gpus_in(copy), "4");
    EXPECT_EQ(first.names("nodes"), std::vector<std::string>{"a"});
    EXPECT_EQ(gpus_in(Catalogue{root}), "8");
}

TEST(Catalogue, AnEntryWithAnErrorIsReadAgain) {
    const TestFolder folder;
    const fs::path& root = folder.path();
    fs::create_directories(root / "nodes");
    std::ofstream{root / "nodes" / "a.yaml"} << "[";
    const Catalogue catalogue{root};
    Errors errors;
    EXPECT_FALSE(catalogue.resolve(word("a"), "nodes", "node", errors).is_map());
    EXPECT_EQ(errors.size(), 1U);
    std::ofstream{root / "nodes" / "a.yaml"} << "gpus: 4\n";
    EXPECT_TRUE(catalogue.resolve(word("a"), "nodes", "node", errors).is_map());
}

TEST(Catalogue, AMissingFolderIsAnErrorThatNamesIt) {
    Errors errors;
    EXPECT_FALSE(Catalogue{"/nowhere"}.resolve(word("a"), "nodes", "node", errors).is_map());
    ASSERT_EQ(errors.size(), 1U);
    EXPECT_EQ(errors[0].hint, "no nodes in /nowhere");
}

}  // namespace
}  // namespace orrery
