// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/measure/training_bench.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "models/plan/flops.h"
#include "scenarios/format/read/reader.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

Scenario tiny_scenario(const std::string& cluster) {
    const auto scenario = read_scenario_text(
        "cluster: " + cluster +
            "\nmodel: {num_layers: 1, hidden_size: 16, num_attention_heads: 2, seq_length: 16, "
            "vocab_size: 64}\n"
            "plan: {micro_batch_size: 2, global_batch_size: 4, precision: fp32}\n",
        "tiny",
        ".");
    EXPECT_TRUE(scenario);
    return *scenario;
}

// The same on the CPU as on a GPU.
TEST(BenchTraining, MeasuresAndPredictsTheSameScenario) {
    const TestFolder folder;
    const Scenario scenario = tiny_scenario("{nodes: 1, node: cpu-core}");
    const std::string profile = (folder.path() / "profile.csv").string();
    const auto bench = bench_training(scenario, DeviceChoice::cpu, 3, profile);
    ASSERT_TRUE(bench) << bench.error().to_string();
    EXPECT_EQ(bench->device, "CPU");
    EXPECT_EQ(bench->tokens_per_step, 64);
    EXPECT_GT(bench->step_s, 0);
    EXPECT_GE(bench->slowest_s, bench->step_s);
    EXPECT_NEAR(bench->first_loss, std::log(64.0), 0.5);
    EXPECT_GT(bench->predicted_s, 0);
    EXPECT_GT(bench->predicted_with_profile_s, 0);
    EXPECT_NE(bench->predicted_with_profile_s, bench->predicted_s);
    EXPECT_FALSE(bench->kernels.empty());
    const ModelFlops work = model_flops(scenario.model, 4);
    EXPECT_NEAR(bench->mfu_causal * bench->step_s * scenario.device.peak_fp32.per_second(),
                work.causal_attention.count(),
                1e-6 * work.causal_attention.count());
    EXPECT_LT(bench->mfu_causal, bench->mfu_full);
    const std::string report = bench_report(scenario, *bench);
    for (const char* word : {"tokens/s", "MFU", "predicted", "measured beside predicted"}) {
        EXPECT_NE(report.find(word), std::string::npos) << report;
    }
}

TEST(BenchTraining, IsOfOneDevice) {
    const auto bench = bench_training(
        tiny_scenario("{nodes: 1, node: cpu-2-cores}"), DeviceChoice::cpu, 1, "unused.csv");
    ASSERT_FALSE(bench);
    EXPECT_NE(bench.error().what.find("more than one device"), std::string::npos);
}

// A CPU's times are not an H100's.
TEST(BenchTraining, FilesNoTimesUnderAnotherDevicesName) {
    const TestFolder folder;
    const std::string profile = (folder.path() / "profile.csv").string();
    const auto bench =
        bench_training(tiny_scenario("{nodes: 1, node: h100-1gpu}"), DeviceChoice::cpu, 1, profile);
    ASSERT_FALSE(bench);
    EXPECT_EQ(bench.error().where, "cluster.node");
    EXPECT_NE(bench.error().what.find("h100-80g"), std::string::npos) << bench.error().what;
    EXPECT_FALSE(std::filesystem::exists(profile));
}

TEST(BenchTraining, ARowHasAValueForEachColumn) {
    const TrainingBench bench{
        .device = "GPU", .tokens_per_step = 64, .steps = 3, .step_s = 0.5, .slowest_s = 0.6};
    const std::string row =
        bench_row(tiny_scenario("{nodes: 1, node: cpu-core}"), bench, "wgmma,graphs");
    const std::string columns = bench_columns();
    EXPECT_EQ(std::ranges::count(row, ','), std::ranges::count(columns, ','));
    EXPECT_EQ(row.substr(0, row.find(",3,")), "tiny,GPU,wgmma graphs,2,64");
    EXPECT_NE(row.find(",500.0000,600.0000,128.0,"), std::string::npos) << row;
}

}  // namespace
}  // namespace orrery
