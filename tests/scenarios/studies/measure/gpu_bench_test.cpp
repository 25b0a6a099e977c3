// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/measure/gpu_bench.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/test_folder.h"

namespace orrery {
namespace {

TEST(GpuBenchStudy, TakesTheFastestOfPyTorchsWays) {
    const std::string text =
        "torch 2.9\ntokens/s 400000 autocast, default attention\nnoise\n"
        "tokens/s 450000 bf16 weights, cuDNN attention\ntokens/s 1000 slow\n";
    const std::string line = torch_conclusion(text, 540000);
    EXPECT_NE(line.find("450000 tokens/s (bf16 weights, cuDNN attention)"), std::string::npos)
        << line;
    EXPECT_NE(line.find("Orrery has 1.20 of it"), std::string::npos) << line;
    EXPECT_EQ(torch_conclusion(text, 0).find("Orrery"), std::string::npos);
    EXPECT_NE(torch_conclusion("ImportError\n", 1).find("was not compared"), std::string::npos);
}

TEST(GpuBenchStudy, TrainsATinyModelInARehearsal) {
    const TestFolder folder;
    const std::string file = folder.write(
        "tiny.yaml",
        "name: tiny\ncluster: {nodes: 1, node: h100-1gpu}\n"
        "model: {num_layers: 1, hidden_size: 16, num_attention_heads: 2, seq_length: 16, "
        "vocab_size: 64}\nplan: {micro_batch_size: 2, global_batch_size: 4, precision: fp32}\n");
    const GpuBenchSpec spec{.files = {file},
                            .folder = folder.path().string(),
                            .steps = 2,
                            .only = "train",
                            .device = "cpu"};
    std::string printed;
    const Errors errors =
        run_training_stage(spec, [&](const std::string& text) { printed += text; });
    ASSERT_TRUE(errors.empty()) << errors.front().to_string();
    EXPECT_NE(printed.find("step   7"), std::string::npos) << printed;
    EXPECT_NE(printed.find("tokens/s"), std::string::npos) << printed;
    const std::string table = folder.text("steps.csv");
    EXPECT_EQ(std::ranges::count(table, '\n'), 2) << table;
    EXPECT_NE(table.find("\ntiny,CPU,,2,64,2,"), std::string::npos) << table;
    EXPECT_TRUE(std::filesystem::exists(folder.path() / "tiny.csv"));
}

}  // namespace
}  // namespace orrery
