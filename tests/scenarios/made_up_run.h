// SPDX-License-Identifier: Apache-2.0
// A recorded run that never ran: the simulator's own timeline of a scenario, every time of it
// longer by a factor, written down as ranks would have.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>

#include "runtime/measure/recording.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/report/recording_json.h"
#include "scenarios/studies/measure/predicted_run.h"
#include "scenarios/studies/measure/recorded_run.h"
#include "tests/test_folder.h"

namespace orrery {

// A small GPT on CPU ranks that share the batch.
inline std::string made_up_scenario(std::uint32_t ranks) {
    return "cluster: {nodes: 1, node: {base: cpu-core, gpus_per_node: " + std::to_string(ranks) +
           "}}\n"
           "model: {num_layers: 2, hidden_size: 32, num_attention_heads: 2, seq_length: 16,"
           " vocab_size: 256}\n"
           "plan: {micro_batch_size: 2, global_batch_size: " +
           std::to_string(4 * ranks) +
           ", precision: fp32}\n"
           "job: {steps: 5, dataset: text.txt, eval_steps: 0, learning_rate: 1.0e-3}\n";
}

inline std::int64_t nanoseconds(Time time, double factor) {
    return std::llround(time.seconds() * 1e9 * factor);
}

inline RankRecording made_up_recording(const PredictedRun& predicted, RankId rank, double factor) {
    RankRecording recording{.steps = {}, .arena_bytes = 1 << 20, .resident_bytes = 1 << 21};
    std::int64_t now = 1'000'000;
    for (std::int64_t s = 1; s <= 4; ++s) {
        RecordedStep step{.step = s, .begin_ns = now, .ops = {}};
        for (const TracedOp& op : predicted.of_rank(rank)) {
            const std::int64_t begin = now + nanoseconds(op.start, factor);
            const std::int64_t end = now + nanoseconds(op.end - predicted.host_per_op, factor);
            step.ops.push_back({op.slot, op.op, begin, end, end - begin});
            step.cpu_ns += end - begin;
        }
        step.end_ns = now + nanoseconds(predicted.answer.iteration, factor);
        step.loss_ns = step.end_ns;
        step.cpu_ns = step.end_ns - step.begin_ns;
        recording.steps.push_back(step);
        now = step.end_ns + 1000;
    }
    return recording;
}

// Of `made_up_scenario(ranks)` in the test's folder; the run is in its folder "run".
inline void write_made_up_run(const TestFolder& folder,
                              std::uint32_t ranks,
                              double factor,
                              const std::string& profile_file = {}) {
    folder.write("text.txt", std::string(4096, 'x'));
    const std::string file = folder.write("s.yaml", made_up_scenario(ranks));
    const auto scenario = read_scenario(file);
    ASSERT_TRUE(scenario) << scenario.error()[0].to_string();
    const auto predicted = predict_run(*scenario, profile_file);
    ASSERT_TRUE(predicted) << predicted.error().to_string();
    ASSERT_TRUE(begin_run_folder(folder / "run"));
    for (std::uint32_t r = 0; r < ranks; ++r) {
        ASSERT_TRUE(
            write_recording(folder / "run", r, made_up_recording(*predicted, RankId{r}, factor)));
    }
    ASSERT_TRUE(write_run_description(
        folder / "run", *scenario, {.machine = "a \"made-up\" machine", .ranks = ranks}));
}

}  // namespace orrery
