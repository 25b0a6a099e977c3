// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/reader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "network/fabric/cable_list.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

using namespace literals;

constexpr const char* kGood = R"(cluster:
  nodes: 2
  node: dgx-a100-80g
  fabric:
    kind: clos
    nics_per_node: 8
    nic_bandwidth: 200 Gbps
model:
  num_layers: 96
  hidden_size: 12288
  num_attention_heads: 128
  seq_length: 2048
  vocab_size: 64000
plan:
  tensor_model_parallel_size: 8
  micro_batch_size: 1
  global_batch_size: 16
)";

ReadOptions with_overrides(std::vector<std::string> overrides) {
    ReadOptions options;
    options.catalogue = ORRERY_SOURCE_DIR "/scenarios/catalogue";
    options.overrides = std::move(overrides);
    return options;
}

ResultOrErrors<Scenario> read(const std::string& text, std::vector<std::string> overrides = {}) {
    return read_scenario_text(text, "s.yaml", ".", with_overrides(std::move(overrides)));
}

// All errors, one a line.
std::string errors_of_file(const std::string& text, std::vector<std::string> overrides = {}) {
    const auto scenario = read(text, std::move(overrides));
    std::string lines;
    if (!scenario) {
        for (const Error& error : scenario.error()) {
            lines += error.to_string() + "\n";
        }
    }
    return lines;
}

// kGood with one line replaced.
std::string changed(std::string_view line, std::string_view by) {
    std::string text = kGood;
    const std::size_t at = text.find(line);
    EXPECT_NE(at, std::string::npos) << line;
    return text.replace(at, line.size(), by);
}

TEST(Reader, ReadsWhatTheFileSaysAndDefaultsTheRest) {
    const auto s = read(kGood);
    ASSERT_TRUE(s) << errors_of_file(kGood);
    EXPECT_EQ(s->name, "s");
    EXPECT_EQ(s->software, "");
    EXPECT_EQ(read("software: nemo-24.05\n" + std::string{kGood})->software, "nemo-24.05");
    EXPECT_EQ(s->cluster.num_gpus(), 16U);
    EXPECT_EQ(s->cluster.node.name, "dgx-a100-80g");
    EXPECT_EQ(s->cluster.node.device, "a100-80g");
    EXPECT_EQ(s->device.name, "a100-80g");
    EXPECT_EQ(s->device.peak_fp16.per_second(), 312e12);
    EXPECT_EQ(s->cluster.fabric.kind, FabricKind::clos);
    EXPECT_EQ(s->cluster.fabric.nic_bandwidth, 200_Gbps);
    EXPECT_EQ(s->model.ffn_hidden_size, 4 * 12288);
    EXPECT_EQ(s->model.num_query_groups, 128);
    EXPECT_EQ(s->model.kv_channels, 96);
    EXPECT_EQ(s->plan.data_parallel_size, 2);
    EXPECT_EQ(s->network, NetworkFidelity::fluid);
    Job job;
    job.training.ranks_of_node = 8;
    EXPECT_EQ(s->job, job);
}

TEST(Reader, WeightsWithoutAnFp32CopyAreOfBf16Plans) {
    const std::string keys = "  main_params_dtype: bf16\n  bf16_stochastic_round: true\n";
    const auto s = read(std::string{kGood} + keys);
    ASSERT_TRUE(s) << errors_of_file(std::string{kGood} + keys);
    EXPECT_EQ(s->plan.main_params_dtype, Dtype::bf16);
    EXPECT_TRUE(s->plan.bf16_stochastic_round);
    EXPECT_NE(errors_of_file(std::string{kGood} + keys + "  precision: fp16\n")
                  .find("with precision fp16 there are no bf16 weights"),
              std::string::npos);
}

TEST(Reader, ADeviceOfTheCatalogueIsAskedForNothingThatItDoesNotHave) {
    const auto errors = [](const char* node, const std::string& setting) {
        return errors_of_file(kGood, {std::string{"cluster.node="} + node, setting});
    };
    EXPECT_NE(errors("dgx-a100-80g", "plan.precision=fp8").find("a100-80g does not compute in fp8"),
              std::string::npos);
    EXPECT_EQ(errors("dgx-h100", "plan.precision=fp8"), "");
    EXPECT_NE(errors("dgx-v100", "plan.precision=bf16").find("does not compute in bf16"),
              std::string::npos);
    EXPECT_EQ(
        errors_of_file(
            kGood,
            {"cluster.node=dgx-v100", "plan.precision=fp16", "plan.attention_kernel=unfused"}),
        "");
    EXPECT_NE(
        errors("dgx-a100-80g", "plan.attention_kernel=flash_3")
            .find("there is no attention kernel flash_3 for a100-80g (hint: unfused, flash_1, "
                  "flash_2, cudnn)"),
        std::string::npos);
    EXPECT_EQ(errors("dgx-h100", "plan.attention_kernel=flash_3"), "");
    // The clusters that a search compares.
    EXPECT_NE(errors_of_file(kGood,
                             {"cluster.node=dgx-h100",
                              "plan.precision=fp8",
                              "search={cluster: {node: [dgx-h100, dgx-a100-80g]}}"})
                  .find("a100-80g does not compute in fp8"),
              std::string::npos);
}

TEST(Reader, EveryKeyOfTheModelReachesItsField) {
    const std::string text = changed("  vocab_size: 64000\n", R"(  vocab_size: 64000
  ffn_hidden_size: 30000
  num_query_groups: 16
  kv_channels: 64
  normalization: RMSNorm
  position_embedding_type: rope
  activation: swiglu
  add_bias_linear: false
  untie_embeddings_and_output_weights: true
  parallel_block: true
  dropout: 0.1
  sliding_window: 768
  sliding_window_every: 2
)");
    const auto s = read(text);
    ASSERT_TRUE(s) << errors_of_file(text);
    const Transformer expected{
        .name = "",
        .num_layers = 96,
        .hidden_size = 12288,
        .ffn_hidden_size = 30000,
        .num_attention_heads = 128,
        .num_query_groups = 16,
        .kv_channels = 64,
        .seq_length = 2048,
        .vocab_size = 64000,
        .normalization = Normalization::rmsnorm,
        .position_embedding = PositionEmbedding::rope,
        .activation = Activation::swiglu,
        .add_bias_linear = false,
        .tied_embeddings = false,
        .parallel_block = true,
        .dropout = 0.1,
        .sliding_window = 768,
        .sliding_window_every = 2,
    };
    EXPECT_EQ(s->model, expected);
}

TEST(Reader, InterleavingIsTheScheduleOfVirtualStages) {
    const std::string virtual_stages = std::string{kGood} +
                                       "  pipeline_model_parallel_size: 2\n"
                                       "  virtual_pipeline_model_parallel_size: 2\n";
    EXPECT_EQ(read(virtual_stages)->plan.schedule, ScheduleKind::interleaved_1f1b);
    EXPECT_EQ(read(kGood)->plan.schedule, ScheduleKind::one_f_one_b);
}

TEST(Reader, AllErrorsComeAtOnceInTheOrderOfTheFile) {
    const std::string text = R"(cluster:
  nodes: 3.5
  node: dgx-h1000
  fabric:
    kind: clos
    nic_bandwidth: 200
    nic_bandwith: 200 Gbps
model: lama-3-8b
plan:
  tensor_parallel_size: 8
  micro_batch_size: one
  schedule: 1f1b1
  data_parallel_size: 4
  sequence_parallel: yes
network: packets
faults: 3
)";
    EXPECT_EQ(
        errors_of_file(text),
        "s.yaml:2:10: error: cluster.nodes must be a whole number, not '3.5' (hint: 1 to "
        "1000000)\n"
        "s.yaml:3:9: error: cluster.node: the catalogue has no node 'dgx-h1000' (hint: did "
        "you mean 'dgx-h100', 'dgx-v100' or 'hgx-h200'?)\n"
        "s.yaml:6:20: error: cluster.fabric.nic_bandwidth: '200' has no unit; a bandwidth is "
        "due (hint: write it like '200 Gbps'; units: TB/s, TBps, Tbps, Tb/s, GB/s, GBps, "
        "Gbps, Gb/s, MB/s, MBps, Mbps, Mb/s, KB/s, Kbps, B/s, bps)\n"
        "s.yaml:7:5: error: unknown key 'nic_bandwith' in 'cluster.fabric' (hint: did you "
        "mean 'nic_bandwidth', 'core_bandwidth' or 'uplink_bandwidth'?)\n"
        "s.yaml:8:8: error: model: the catalogue has no model 'lama-3-8b' (hint: did you mean "
        "'llama-3-8b', 'llama-2-7b' or 'llama-3-70b'?)\n"
        "s.yaml:10:3: error: 'plan' lacks the key 'global_batch_size' (hint: add "
        "'global_batch_size: …')\n"
        "s.yaml:10:3: error: unknown key 'tensor_parallel_size' in 'plan' (hint: did you mean "
        "'tensor_model_parallel_size'?)\n"
        "s.yaml:11:21: error: plan.micro_batch_size must be a whole number, not 'one' (hint: 1 "
        "to 100000000)\n"
        "s.yaml:12:13: error: plan.schedule can't be '1f1b1' (hint: one of gpipe, 1f1b, "
        "interleaved_1f1b, breadth_first, zero_bubble, dualpipe, dualpipev)\n"
        "s.yaml:13:3: error: data_parallel_size is derived, never given (hint: remove it: it "
        "is the number of GPUs / (tensor * pipeline * context))\n"
        "s.yaml:14:22: error: plan.sequence_parallel must be true or false, not 'yes'\n"
        "s.yaml:15:10: error: network can't be 'packets' (hint: one of analytic, fluid, packet, "
        "simgrid)\n"
        "s.yaml:16:9: error: faults must be a list, not '3' (hint: - {process: exponential, "
        "kind: gpu_lost, at: gpu:*, mtbf: 2000 d})\n");
}

// A search reads the cluster for each of its variants.
TEST(Reader, AnErrorOfTheClusterIsToldOnceBesideASearch) {
    const std::string text = changed("  nodes: 2\n", "  nodes: 2.5\n") +
                             "search: {tensor_model_parallel_size: [1, 2]}\n";
    EXPECT_EQ(errors_of_file(text),
              "s.yaml:2:10: error: cluster.nodes must be a whole number, not '2.5' (hint: 1 to "
              "1000000)\n");
}

TEST(Reader, SizesThatDoNotDivideArePlacedAtTheirKeys) {
    EXPECT_EQ(
        errors_of_file(changed("tensor_model_parallel_size: 8", "tensor_model_parallel_size: 3")),
        "s.yaml:13:15: error: vocab_size 64000 is not divisible by tensor_model_parallel_size 3 "
        "(hint: pad it to 64002)\n"
        "s.yaml:15:31: error: tensor_model_parallel_size 3 does not divide num_attention_heads 128 "
        "(hint: 1, 2, 4, 8, 16)\n"
        "s.yaml:15:31: error: tensor_model_parallel_size 3 neither divides num_query_groups 128 "
        "nor "
        "is a multiple of it (hint: 1, 2, 4, 8, 16, or a multiple of 128)\n"
        "s.yaml:15:31: error: tensor 3 x pipeline 1 x context 1 does not divide 16 GPUs (hint: a "
        "product out of 1, 2, 4, 8, 16)\n");
    const std::string batch =
        errors_of_file(changed("global_batch_size: 16", "global_batch_size: 17"));
    EXPECT_EQ(batch.substr(0, 14), "s.yaml:17:22: ") << batch;
    const std::string layers = errors_of_file(
        std::string{kGood} + "  pipeline_model_parallel_size: 2\n", {"model.num_layers=95"});
    EXPECT_NE(layers.find("95 layers"), std::string::npos) << layers;
}

TEST(Reader, SemanticErrorsAreToldBesideErrorsElsewhere) {
    std::string text = changed("tensor_model_parallel_size: 8", "tensor_model_parallel_size: 3");
    text += "network: fluit\n";
    const std::string errors = errors_of_file(text);
    EXPECT_NE(errors.find("tensor_model_parallel_size 3"), std::string::npos) << errors;
    EXPECT_NE(errors.find("network can't be 'fluit'"), std::string::npos) << errors;
}

TEST(Reader, WrongTypesAreErrorsNotCrashes) {
    // clang-format off
    const char* values[] = {"[1, 2]", "{a: 1}", "", "'8'", "true", "1.5", "x", "-1", "0",
                            "99999999999999999999", "1e3", "[[]]", "~"};
    // clang-format on
    for (const char* line : {"nodes: 2",
                             "num_layers: 96",
                             "tensor_model_parallel_size: 8",
                             "nic_bandwidth: 200 Gbps",
                             "kind: clos",
                             "micro_batch_size: 1"}) {
        const std::string key{std::string_view{line}.substr(0, std::string_view{line}.find(':'))};
        for (const char* value : values) {
            const std::string errors =
                errors_of_file(changed(line, fmt::format("{}: {}", key, value)));
            EXPECT_EQ(errors.substr(0, 7), "s.yaml:") << key << ": " << value;
            EXPECT_NE(errors.find(key), std::string::npos) << errors;
        }
    }
    for (const char* section : {"cluster", "model", "plan", "job"}) {
        for (const char* value : {"3", "[1]", "~", "''"}) {
            const std::string errors =
                errors_of_file(kGood, {fmt::format("{}={}", section, value)});
            EXPECT_NE(errors.find(section), std::string::npos) << section << "=" << value;
        }
    }
}

TEST(Reader, AFileOfAnotherKindIsOneErrorThatNamesItsCommand) {
    EXPECT_EQ(
        errors_of_file("scenario: a.yaml\ngrid: {plan.micro_batch_size: [1, 2]}\n"),
        "s.yaml:1:1: error: this is a sweep, and a scenario is due (hint: orrery sweep FILE)\n");
    EXPECT_EQ(errors_of_file("cluster: {nodes: 2, node: dgx-h100, fabric: ndr400-rail}\n"),
              "s.yaml:1:1: error: there is no model and no plan: this describes a network (hint: "
              "orrery network FILE, or add model and plan)\n");
    EXPECT_EQ(errors_of_file("case,family,gpu\na,b,c\n"),
              "s.yaml:1:1: error: this is a table (CSV), and a scenario is due (hint: orrery keys "
              "--schema scenario lists its keys)\n");
    EXPECT_EQ(errors_of_file("scenario: \"a\"\nchecksum: 3\n"),
              "s.yaml:1:1: error: this is a recorded run, and a scenario is due (hint: orrery "
              "compare FOLDER)\n");
}

TEST(Reader, MissingSectionsAreAllNamed) {
    EXPECT_EQ(errors_of_file("name: x\n"),
              "s.yaml:1:1: error: the scenario lacks the key 'cluster' (hint: add 'cluster: …')\n"
              "s.yaml:1:1: error: the scenario lacks the key 'model' (hint: add 'model: …')\n"
              "s.yaml:1:1: error: the scenario lacks the key 'plan' (hint: add 'plan: …')\n");
    EXPECT_EQ(errors_of_file("just words\n"),
              "s.yaml:1:1: error: a scenario must be a map, not 'just words' (hint: orrery keys "
              "--schema scenario lists its keys)\n");
}

TEST(Reader, OneServerNeedsNoFabric) {
    const std::string text =
        "cluster: {nodes: 1, node: dgx-h100}\nmodel: llama-3-8b\n"
        "plan: {tensor_model_parallel_size: 8, micro_batch_size: 1, global_batch_size: 8}\n";
    EXPECT_TRUE(read(text)) << errors_of_file(text);
    EXPECT_EQ(errors_of_file(text, {"cluster.nodes=2"}),
              "s.yaml:1:10: error: 'cluster' lacks the key 'fabric' (hint: add 'fabric: …')\n");
}

TEST(Reader, OverridesChangeKeysAndNameTheirPlace) {
    EXPECT_EQ(read(kGood, {"plan.global_batch_size=64"})->plan.global_batch_size, 64);
    EXPECT_EQ(read(kGood, {"cluster.fabric.nic_bandwidth=400 Gbps"})->cluster.fabric.nic_bandwidth,
              400_Gbps);
    // Below a catalogue name: the entry with one key changed.
    const auto changed_node = read(kGood, {"cluster.node.nvlink_latency=1 us"});
    ASSERT_TRUE(changed_node);
    EXPECT_EQ(changed_node->cluster.node.nvlink_latency, 1_us);
    EXPECT_EQ(changed_node->cluster.node.name, "dgx-a100-80g");
    EXPECT_EQ(read(kGood, {"cluster.node.device.num_sms=100"})->device.num_sms, 100U);
    EXPECT_EQ(read(kGood, {"model=llama-3-8b"})->model.num_layers, 32);
    EXPECT_EQ(read(kGood, {"job.steps=3"})->job.steps, 3U);

    EXPECT_EQ(errors_of_file(kGood, {"plan.global_batch_size=many"}),
              "--set plan.global_batch_size: error: plan.global_batch_size must be a whole number, "
              "not 'many' (hint: 1 to 1000000000)\n");
    EXPECT_EQ(errors_of_file(kGood, {"version=99"}),
              "--set version: error: unknown key 'version' (hint: files of this release have no "
              "version; did a later one write this file?)\n");
    EXPECT_EQ(errors_of_file(kGood, {"plan.global_batch=3"}),
              "--set plan.global_batch: error: unknown key 'global_batch' in 'plan' (hint: did you "
              "mean 'global_batch_size'?)\n");
    for (const char* bad : {"plan.global_batch_size",
                            "=3",
                            "plan.global_batch_size=",
                            "a=[",
                            "plan.pipeline_layout.x.y=[1",
                            ""}) {
        EXPECT_EQ(errors_of_file(kGood, {bad}).substr(0, 6), "--set ") << bad;
    }
}

TEST(Reader, AnEntryCanBeChangedInPlace) {
    const auto s = read(changed("  node: dgx-a100-80g\n",
                                "  node: {base: dgx-a100-80g, nvlink_bandwidth: 100 GB/s}\n"));
    ASSERT_TRUE(s);
    EXPECT_EQ(s->cluster.node.nvlink_bandwidth, 100_GBps);
    EXPECT_EQ(s->cluster.node.pcie_bandwidth, read(kGood)->cluster.node.pcie_bandwidth);
    EXPECT_EQ(
        errors_of_file(changed("  node: dgx-a100-80g\n", "  node: {base: ../x}\n")).substr(0, 40),
        "s.yaml:3:16: error: cluster.node: the ca");
}

TEST(Reader, HuggingFaceConfigsAreReadBesideTheScenario) {
    const std::string folder = ::testing::TempDir();
    std::ofstream{folder + "/config.json"} << R"({"model_type": "llama", "hidden_size": 4096,
  "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
  "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 131072,
  "hidden_act": "silu", "rope_theta": 500000.0, "tie_word_embeddings": false})";
    const std::string text =
        "cluster: {nodes: 1, node: dgx-h100}\n"
        "model: {hf_config: config.json, seq_length: 8192}\n"
        "plan: {tensor_model_parallel_size: 8, micro_batch_size: 1, global_batch_size: 8}\n";
    const auto s = read_scenario_text(text, "s.yaml", folder, with_overrides({}));
    ASSERT_TRUE(s) << s.error().front().to_string();
    Transformer expected = read(kGood, {"model=llama-3-8b"})->model;
    expected.name = s->model.name;
    EXPECT_EQ(s->model, expected);
}

TEST(Reader, TablesNamedByAnOverrideLieBesideTheScenario) {
    const TestFolder folder;
    folder.write("cables.csv", "from,to,bandwidth\nnode 0 nic 0,a,1 Gbps\nnode 1 nic 0,a,1 Gbps\n");
    const std::string text =
        "cluster: {nodes: 2, node: {base: dgx-h100, gpus_per_node: 1}, fabric: {kind: file, "
        "file: absent.csv, nics_per_node: 1, link_latency: 1 us}}\n";
    ReadOptions options = with_overrides({"cluster.fabric.file=cables.csv"});
    options.network_only = true;
    const auto s = read_scenario(folder.write("s.yaml", text), options);
    ASSERT_TRUE(s) << s.error().front().to_string();
    EXPECT_EQ(s->cluster.fabric.cables->nic_cables().size(), 2U);
}

TEST(Reader, AJobThatMayNotShrinkBelowWhatItHasIsToldSo) {
    const std::string errors = errors_of_file(
        std::string{kGood} + "recovery: {policies: [{elastic: {units_min: 5000}}]}\n");
    EXPECT_NE(errors.find("s.yaml:"), std::string::npos);
    EXPECT_NE(errors.find("elastic.units_min is 5000, and the plan has"), std::string::npos)
        << errors;
}

// A wrong value is not missing as well.
TEST(Reader, ASpanThatIsWrongIsOneError) {
    const std::string errors = errors_of_file(
        std::string{kGood} +
        "faults:\n  - {process: exponential, kind: node_crash, at: 'node:*', mtbf: 3}\n"
        "campaign: {repair: {time: {median: 1 d, sigma: -1}}}\n");
    EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), 2) << errors;
}

TEST(Reader, KeysOfLaterVersionsAreRefusedByName) {
    for (const char* key : {"faults", "recovery", "campaign"}) {
        EXPECT_NE(
            errors_of_file(std::string{kGood} + key + ": 1\n").find(std::string{key} + " must be"),
            std::string::npos);
    }
    const std::pair<const char*, const char*> later[] = {
        {"job.checkpoint=x", "job.checkpoint is not supported yet"},
        {"plan.expert_model_parallel_size=8", "the model has no experts"},
        {"cluster.fabric.kind=file", "lacks the key 'file'"}};
    for (const auto& [key, words] : later) {
        EXPECT_NE(errors_of_file(kGood, {key}).find(words), std::string::npos) << key;
    }
}

}  // namespace
}  // namespace orrery
