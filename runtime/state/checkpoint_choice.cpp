// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/checkpoint_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>

#include "runtime/state/checkpoint_files.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step-";

std::optional<std::int64_t> step_of(const std::string& name) {
    // A replaced checkpoint (".old") counts if the new one did not get its name.
    std::string_view digits = name;
    if (!digits.starts_with(kPrefix)) {
        return std::nullopt;
    }
    digits.remove_prefix(kPrefix.size());
    if (digits.ends_with(".old")) {
        digits.remove_suffix(4);
    }
    std::int64_t step = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
    const bool good = error == std::errc{} && end == digits.data() + digits.size() && step >= 0;
    return good ? std::optional{step} : std::nullopt;
}

}  // namespace

std::vector<StoredCheckpoint> checkpoints_in(const fs::path& folder, fs::file_time_type since) {
    std::vector<StoredCheckpoint> found;
    std::error_code error;
    for (fs::directory_iterator at{folder, error}, end; !error && at != end; at.increment(error)) {
        std::error_code gone;
        const auto step = step_of(at->path().filename().string());
        if (step && fs::last_write_time(at->path(), gone) >= since && !gone) {
            found.push_back({*step, at->path()});
        }
    }
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
        return a.step != b.step ? a.step > b.step : a.folder < b.folder;
    });
    return found;
}

Result<void> verify_checkpoint(const fs::path& checkpoint) {
    Result<CheckpointFiles> files = CheckpointFiles::open(checkpoint);
    if (!files) {
        return unexpected<Error>(files.error());
    }
    return files->verify();
}

std::optional<StoredCheckpoint> newest_intact(const fs::path& folder,
                                              std::int64_t step_max,
                                              std::uint32_t back,
                                              const std::function<void(const Error&)>& passed_over,
                                              fs::file_time_type since) {
    std::uint32_t seen = 0;
    std::int64_t last = -1;
    for (const StoredCheckpoint& one : checkpoints_in(folder, since)) {
        if (one.step > step_max || one.step == last) {
            continue;
        }
        if (const Result<void> whole = verify_checkpoint(one.folder); !whole) {
            if (passed_over) {
                passed_over(whole.error());
            }
            continue;
        }
        last = one.step;
        if (seen++ == back) {
            return one;
        }
    }
    return std::nullopt;
}

Result<std::vector<fs::path>> resumable(const fs::path& folder) {
    const Result<fs::path> latest = find_checkpoint(folder);
    std::vector<fs::path> found;
    std::int64_t step_max = INT64_MAX;
    if (latest) {
        found.push_back(*latest);
        if (*latest == folder) {
            return found;
        }
        step_max = step_of(latest->filename().string()).value_or(INT64_MAX);
    }
    for (const StoredCheckpoint& one : checkpoints_in(folder)) {
        if (one.step <= step_max && (!latest || one.folder != *latest)) {
            found.push_back(one.folder);
        }
    }
    if (found.empty()) {
        return unexpected<Error>(latest.error());
    }
    return found;
}

}  // namespace orrery
