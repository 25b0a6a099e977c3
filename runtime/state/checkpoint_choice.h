// SPDX-License-Identifier: Apache-2.0
// The choice of a checkpoint to resume: the newest with all files present and intact. A truncated,
// torn or corrupted checkpoint is skipped in favour of the one before it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/result.h"

namespace orrery {

struct StoredCheckpoint {
    std::int64_t step = 0;
    std::filesystem::path folder;
    bool operator==(const StoredCheckpoint&) const = default;
};

// The checkpoints by name, newest first. `since` excludes the checkpoints that an earlier run left
// in the folder.
std::vector<StoredCheckpoint> checkpoints_in(
    const std::filesystem::path& folder,
    std::filesystem::file_time_type since = std::filesystem::file_time_type::min());
// Reads every byte of all ranks' files.
Result<void> verify_checkpoint(const std::filesystem::path& checkpoint);
// The newest intact checkpoint of at most `step_max` steps, or the one `back` intact ones before
// it; no value if there are fewer. `passed_over` gets the errors of skipped checkpoints.
std::optional<StoredCheckpoint> newest_intact(
    const std::filesystem::path& folder,
    std::int64_t step_max = INT64_MAX,
    std::uint32_t back = 0,
    const std::function<void(const Error&)>& passed_over = {},
    std::filesystem::file_time_type since = std::filesystem::file_time_type::min());

// The checkpoints that a run can resume from, best first: `folder` itself if it is one, else the
// one named by its file `latest` and those before it. Without that file, the newest one.
Result<std::vector<std::filesystem::path>> resumable(const std::filesystem::path& folder);

}  // namespace orrery
