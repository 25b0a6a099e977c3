// SPDX-License-Identifier: Apache-2.0
// `orrery export CHECKPOINT -o FILE`: writes the weights of a training run's checkpoint as a
// safetensors file with the names and layouts of Hugging Face transformers, and a config.json in
// the same folder.
#pragma once

#include <string>

#include "scenarios/program/views.h"

namespace orrery {

struct ExportArguments : ViewArguments {
    std::string checkpoint;      // a run's job.checkpoint_folder, or the folder of one step
    std::string target;          // file to write
    std::string dtype = "fp32";  // fp32, bf16 or fp16
};

// Returns the exit status.
int export_command(const ExportArguments& arguments);

}  // namespace orrery
