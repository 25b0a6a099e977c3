// SPDX-License-Identifier: Apache-2.0
// Checkpoints of a training run: a folder `step-000123` with a file per rank, and a file `latest`
// that names the last complete one. A rank's file has the safetensors format. It holds the rank's
// weights and optimizer state by parameter, each with its part of the whole parameter
// (runtime/state/parameter_block.h), so that ranks of another layout can load it. The last tensor,
// "checksum", is the CRC-32C of the bytes before it.
//
// Every rank writes into `step-000123.tmp`. When all have, rank 0 renames the folder, then replaces
// `latest`. If that is interrupted at any point, the checkpoint that `latest` names is unchanged.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "models/transformer/transformer.h"
#include "runtime/state/file_system.h"
#include "runtime/state/held_parameters.h"

namespace orrery {

struct RunState {
    Transformer model;
    std::string precision;                   // dtype of the weights, "bf16"
    std::string main_params_dtype = "fp32";  // dtype of the weights that the optimizer updates
    std::uint64_t seed = 0;
    std::int64_t global_batch_size = 0;
    std::int64_t step = 0;  // finished steps
    std::int64_t consumed_samples = 0;
};

// Tells all ranks of a run whether one of them failed. Returns this rank's error if it has one,
// else the error that another rank failed. All ranks call it in the same order.
using Agree = std::function<Result<void>(Result<void> own)>;

struct RankOfRun {
    std::int64_t rank = 0;
    std::int64_t num_ranks = 1;
    Agree agree = [](Result<void> own) { return own; };
};

std::string checkpoint_name(std::int64_t step);

// Saves a checkpoint. All ranks call it at the same step.
Result<void> save_checkpoint(FileSystem& files,
                             const std::filesystem::path& folder,
                             const RunState& run,
                             const RankOfRun& rank,
                             const std::vector<HeldParameter>& parameters);

// The folder of one step: `folder` itself if it is one, else the folder named by its `latest`.
Result<std::filesystem::path> find_checkpoint(const std::filesystem::path& folder);

// Loads the parameters from a checkpoint of any layout. `run` is this run: its model, precision,
// seed and batch must equal the checkpoint's. Returns the step and the samples. After an error the
// parameters may be partly loaded.
Result<RunState> load_checkpoint(const std::filesystem::path& checkpoint,
                                 const RunState& run,
                                 std::int64_t rank,
                                 const std::vector<HeldParameter>& parameters);

}  // namespace orrery
