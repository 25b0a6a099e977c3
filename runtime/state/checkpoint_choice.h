// SPDX-License-Identifier: Apache-2.0
// Which checkpoint of a folder to go on from: the newest whose files are all there and whole. One
// that was cut off, torn or changed by a bit is passed over, and the one before it is taken.
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

// By their names, the newest first. `since`: not what an earlier run left in the folder.
std::vector<StoredCheckpoint> checkpoints_in(
    const std::filesystem::path& folder,
    std::filesystem::file_time_type since = std::filesystem::file_time_type::min());
// Reads every byte of all ranks' files.
Result<void> verify_checkpoint(const std::filesystem::path& checkpoint);
// The newest intact one of at most `step_max` steps, or the one `back` intact ones before that;
// nothing if there are fewer. `passed_over` hears of checkpoints that are not intact.
std::optional<StoredCheckpoint> newest_intact(
    const std::filesystem::path& folder,
    std::int64_t step_max = INT64_MAX,
    std::uint32_t back = 0,
    const std::function<void(const Error&)>& passed_over = {},
    std::filesystem::file_time_type since = std::filesystem::file_time_type::min());

// What a run can go on from, the best first: the checkpoint that `folder` is, or else the one that
// its file `latest` names, and those before it. Without such a file it is the newest one.
Result<std::vector<std::filesystem::path>> resumable(const std::filesystem::path& folder);

}  // namespace orrery
