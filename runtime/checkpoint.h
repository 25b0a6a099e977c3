// SPDX-License-Identifier: Apache-2.0
// Checkpoints of a training run: a folder `step-000123` with a file a rank, and a file `latest`
// that names the last one that is whole. A rank's file is of the safetensors format: its weights
// and what its optimizer keeps, by parameter, each with the part of the whole parameter that it is
// (runtime/state/parameter_block.h), so that ranks of another layout can load them; the last
// tensor, "checksum", is the CRC-32C of the file before it.
//
// Every rank writes into `step-000123.tmp`; when all have, rank 0 renames the folder, then replaces
// `latest`. Whenever that ends early the checkpoint that `latest` names is as it was.
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
    std::string precision;                   // "bf16": of weights
    std::string main_params_dtype = "fp32";  // of what the optimizer steps
    std::uint64_t seed = 0;
    std::int64_t global_batch_size = 0;
    std::int64_t step = 0;  // steps done
    std::int64_t consumed_samples = 0;
};

// How the ranks of a run agree that something went well everywhere: returns the own error, or one
// that says that another rank has failed. All ranks call it in turn with the others.
using Agree = std::function<Result<void>(Result<void> own)>;

struct RankOfRun {
    std::int64_t rank = 0;
    std::int64_t num_ranks = 1;
    Agree agree = [](Result<void> own) { return own; };
};

std::string checkpoint_name(std::int64_t step);

// All ranks call it at the same step.
Result<void> save_checkpoint(FileSystem& files,
                             const std::filesystem::path& folder,
                             const RunState& run,
                             const RankOfRun& rank,
                             const std::vector<HeldParameter>& parameters);

// The folder of one step: `folder` itself if it is one, else what its `latest` names.
Result<std::filesystem::path> find_checkpoint(const std::filesystem::path& folder);

// Fills the parameters, whatever the layout that wrote the checkpoint. `run` is this run: its
// model, precision, seed and batch must be the checkpoint's. Returns step and samples. On an error
// the parameters may be partly filled.
Result<RunState> load_checkpoint(const std::filesystem::path& checkpoint,
                                 const RunState& run,
                                 std::int64_t rank,
                                 const std::vector<HeldParameter>& parameters);

}  // namespace orrery
