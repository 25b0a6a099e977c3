// SPDX-License-Identifier: Apache-2.0
// The state of an executor that trains, in and out of files: checkpoints of a run, and weights
// under Hugging Face's names.
#pragma once

#include <filesystem>

#include "engine/base/result.h"
#include "models/transformer/transformer.h"
#include "runtime/checkpoint.h"
#include "runtime/executor.h"

namespace orrery {

// What a rank says that is well where another one is not.
inline Error another_rank_failed() {
    return {.what = "another rank could not do it", .cause = ErrorCause::another_rank};
}

// Of all ranks together: each calls it at the same step.
Result<void> save_training(Executor& executor,
                           const RunState& run,
                           const std::filesystem::path& folder,
                           FileSystem& files = disk());

// From the folder's latest checkpoint, or from the folder of one; the ranks need not be laid out as
// the ranks that saved it. `run` is what resumes; returns what was saved. An error on any rank is
// one on all.
Result<RunState> resume_training(Executor& executor,
                                 const RunState& run,
                                 const std::filesystem::path& folder);

// Replaces the weights by those of a safetensors file; the optimizer's state stays. Experts may
// begin as a model without them (runtime/state/upcycling.h).
ResultOrErrors<std::size_t> import_weights(Executor& executor,
                                           const Transformer& model,
                                           const std::filesystem::path& file);

struct ExportedWeights {
    std::int64_t step = 0;  // of the checkpoint
    std::size_t tensors = 0;
    std::int64_t parameters = 0;
};
// Writes the weights of a checkpoint as a safetensors file with elements of this type, and a
// config.json beside it. Files of these names are replaced, each as a whole; a config.json that
// such an export did not write is left alone, and that is an error.
Result<ExportedWeights> export_weights(const std::filesystem::path& checkpoint,
                                       const std::filesystem::path& file,
                                       std::string_view type,
                                       FileSystem& files = disk());

}  // namespace orrery
