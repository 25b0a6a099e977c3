// SPDX-License-Identifier: Apache-2.0
// `orrery generate CHECKPOINT --prompt TEXT` writes how a trained model goes on from a text.
#pragma once

#include <cstdint>
#include <string>

#include "scenarios/program/views.h"

namespace orrery {

struct GenerateArguments : ViewArguments {
    std::string checkpoint;  // a run's folder, or that of one step
    std::string prompt = "\n";
    std::int64_t tokens = 200;
    double temperature = 0.8;
    std::int64_t top_k = 0;  // 0: all
    std::uint64_t seed = 1;
    std::string tokenizer;  // folder with merges.txt; empty: that of the checkpoint, else bytes
};

// Returns the exit status.
int generate_command(const GenerateArguments& arguments);

}  // namespace orrery
