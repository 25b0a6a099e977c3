// SPDX-License-Identifier: Apache-2.0
// `orrery generate CHECKPOINT --prompt TEXT`: continues a text with a trained model.
#pragma once

#include <cstdint>
#include <string>

#include "scenarios/program/views.h"

namespace orrery {

struct GenerateArguments : ViewArguments {
    std::string checkpoint;  // folder of a run, or of one step
    std::string prompt = "\n";
    std::int64_t tokens = 200;
    double temperature = 0.8;
    std::int64_t top_k = 0;  // 0: all
    std::uint64_t seed = 1;
    // Folder with merges.txt; empty: the checkpoint's tokenizer, or bytes without one
    std::string tokenizer;
};

// Returns the exit status.
int generate_command(const GenerateArguments& arguments);

}  // namespace orrery
