// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/sweep/run_point.h"

#include <gtest/gtest.h>

#include "scenarios/format/read/reader.h"
#include "scenarios/studies/simulate/simulate_scenario.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

TEST(StudyPoints, RunWhatSimulateRuns) {
    const TestFolder folder;
    folder.write("s.yaml",
                 "cluster: {nodes: 1, node: {base: dgx-a100-80g, gpus_per_node: 2}}\n"
                 "model: {num_layers: 2, hidden_size: 256, num_attention_heads: 4, "
                 "seq_length: 256, vocab_size: 1024}\n"
                 "plan: {micro_batch_size: 1, global_batch_size: 8}\n");
    const Study study = read_study_text(
                            "scenario: s.yaml\nset: {plan.micro_batch_size: 2}\n"
                            "grid: {plan.global_batch_size: [8, 16], plan.nonsense: [1]}\n",
                            "study.yaml",
                            folder.path())
                            .value();
    const std::string error = StudyPoints{study}.run(0).error;
    EXPECT_TRUE(error.starts_with("study.yaml:3:57: ")) << error;
    EXPECT_NE(error.find("unknown key 'nonsense'"), std::string::npos) << error;
    const Study good = read_study_text(
                           "scenario: s.yaml\nset: {plan.micro_batch_size: 2}\n"
                           "grid: {plan.global_batch_size: [8, 16]}\n",
                           "study.yaml",
                           folder.path())
                           .value();
    const StudyPoints points{good};
    const PointResult second = points.run(1);
    ReadOptions read;
    read.overrides = {"plan.micro_batch_size=2", "plan.global_batch_size=16"};
    const Answer answer = simulate_scenario(read_scenario(folder / "s.yaml", read).value()).value();
    EXPECT_EQ(second.iteration_s, answer.iteration.seconds());
    EXPECT_EQ(second.peak_memory_bytes, answer.memory.peak.count());
    EXPECT_EQ(second.gpus, 2);
    EXPECT_NE(points.id_of(0), points.id_of(1));
}

}  // namespace
}  // namespace orrery
