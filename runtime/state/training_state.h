// SPDX-License-Identifier: Apache-2.0
// Saves and loads the state of a training executor: checkpoints of a run, and weights with Hugging
// Face's names.
#pragma once

#include <filesystem>

#include "engine/base/result.h"
#include "models/transformer/transformer.h"
#include "runtime/checkpoint.h"
#include "runtime/executor.h"

namespace orrery {

// The error of a healthy rank when another one has failed.
inline Error another_rank_failed() {
    return {.what = "another rank could not do it", .cause = ErrorCause::another_rank};
}

// All ranks call it at the same step.
Result<void> save_training(Executor& executor,
                           const RunState& run,
                           const std::filesystem::path& folder,
                           FileSystem& files = disk());

// Resumes from the folder's latest checkpoint, or from the folder of one. The layout may differ
// from that of the saved run. `run` is the resuming run; returns the saved one. An error on one
// rank is an error on all.
Result<RunState> resume_training(Executor& executor,
                                 const RunState& run,
                                 const std::filesystem::path& folder);

// Replaces the weights by those of a safetensors file; the optimizer's state stays. A model with
// experts may start from a model without them (runtime/state/upcycling.h).
ResultOrErrors<std::size_t> import_weights(Executor& executor,
                                           const Transformer& model,
                                           const std::filesystem::path& file);

struct ExportedWeights {
    std::int64_t step = 0;  // of the checkpoint
    std::size_t tensors = 0;
    std::int64_t parameters = 0;
};
// Writes the weights of a checkpoint as a safetensors file with elements of this type, and a
// config.json beside it. Existing files with these names are replaced atomically. A config.json
// that was not written by such an export is not replaced: that is an error.
Result<ExportedWeights> export_weights(const std::filesystem::path& checkpoint,
                                       const std::filesystem::path& file,
                                       std::string_view type,
                                       FileSystem& files = disk());

}  // namespace orrery
