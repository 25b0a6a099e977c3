// SPDX-License-Identifier: Apache-2.0
// A scenario that `orrery train` trains in milliseconds, its text, and the command on both.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "scenarios/program/exit_status.h"
#include "scenarios/program/train.h"
#include "tests/scenarios/program/command_run.h"
#include "tests/test_folder.h"

namespace orrery {

inline constexpr const char* kScenario =
    "cluster: {nodes: 1, node: cpu-core}\n"
    "model: {num_layers: 1, hidden_size: 16, num_attention_heads: 2, seq_length: 16,\n"
    "        vocab_size: 256}\n"
    "plan: {micro_batch_size: 2, global_batch_size: 4, precision: fp32}\n"
    "job: {steps: 4, dataset: text.txt, log_interval: 2, validation_share: 0.2}\n";

inline std::string text() {
    std::string words;
    for (int i = 0; i < 40; ++i) {
        words += "to be or not to be; ";
    }
    return words;
}

inline CommandRun train(const TestFolder& folder,
                        const std::string& scenario,
                        const std::vector<std::string>& overrides = {}) {
    TrainArguments arguments;
    arguments.file = folder.write("s.yaml", scenario);
    arguments.overrides = overrides;
    return run_command([&] { return train_command(arguments); });
}

inline void expect_error(const CommandRun& run, const std::string& message) {
    EXPECT_EQ(run.status, kExitUserError);
    EXPECT_NE(run.err.find(message), std::string::npos) << run.err;
}

}  // namespace orrery
