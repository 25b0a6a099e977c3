// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/run_claim.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <utility>

#include "runtime/state/checkpoint_choice.h"
#include "runtime/state/file_system.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLockName = ".lock";
constexpr std::string_view kCurves = "events.out.tfevents.";

std::vector<fs::path> curves_in(const fs::path& folder) {
    std::vector<fs::path> found;
    std::error_code error;
    for (fs::directory_iterator at{folder, error}, end; !error && at != end; at.increment(error)) {
        if (at->path().filename().string().starts_with(kCurves)) {
            found.push_back(at->path());
        }
    }
    std::ranges::sort(found);
    return found;
}

// Terminals, pipes and /dev/null keep nothing of an earlier run.
bool is_file(const fs::path& path) {
    std::error_code error;
    return fs::is_regular_file(path, error);
}

bool has_text(const fs::path& path) {
    std::error_code error;
    return is_file(path) && fs::file_size(path, error) > 0 && !error;
}

bool lies_in(const fs::path& path, const fs::path& folder) {
    std::error_code error;
    const fs::path inner = fs::weakly_canonical(path, error);
    const fs::path outer = fs::weakly_canonical(folder, error);
    const auto [end, rest] = std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end());
    return !path.empty() && end == outer.end();
}

}  // namespace

class RunClaim::Lock {
public:
    Lock(int descriptor, fs::path file) : descriptor_(descriptor), file_(std::move(file)) {}
    ~Lock() { close(descriptor_); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

    const fs::path& file() const { return file_; }

private:
    int descriptor_;
    fs::path file_;
};

Result<void> RunClaim::lock_file(const fs::path& file, const char* key) {
    std::error_code error;
    const fs::path own = fs::weakly_canonical(file, error);
    const auto same = [&](const std::shared_ptr<Lock>& lock) { return lock->file() == own; };
    const int descriptor = std::ranges::any_of(locks_, same)
                               ? -1
                               : open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor < 0) {
        return {};  // already locked, or unwritable: the writer reports the error
    }
    locks_.push_back(std::make_shared<Lock>(descriptor, own));
    int status = flock(descriptor, LOCK_EX | LOCK_NB);
    while (status != 0 && errno == EINTR) {
        status = flock(descriptor, LOCK_EX | LOCK_NB);
    }
    if (status != 0 && errno == EWOULDBLOCK) {
        const bool folder = file.filename() == kLockName;
        return fail((folder ? file.parent_path() : file).string(),
                    "another run is writing to it now",
                    fmt::format("wait for its end, or another {}", key));
    }
    return {};
}

Errors RunClaim::lock(const TrainingJob& job, bool resumes) {
    Errors errors;
    const auto folder = [&](const fs::path& path, const char* key, bool needed) {
        std::error_code error;
        Result<void> there;
        if (!path.empty() && !resumes) {
            there = disk().create_folder(path);
        }
        if (there && fs::is_directory(path, error)) {
            there = lock_file(path / kLockName, key);
            needed = true;
        }
        if (!there && needed) {
            errors.push_back(there.error());
        }
    };
    folder(job.checkpoint_folder, "job.checkpoint_folder", true);
    // Its writer reports the error
    folder(job.tensorboard_folder, "job.tensorboard_folder", false);
    std::error_code error;
    if (!job.log_file.empty() && (is_file(job.log_file) || !fs::exists(job.log_file, error))) {
        if (const Result<void> locked = lock_file(job.log_file, "job.log_file"); !locked) {
            errors.push_back(locked.error());
        }
    }
    return errors;
}

// Errors for the files of an earlier run.
Errors RunClaim::find(const TrainingJob& job) {
    Errors found;
    const auto add = [&](const fs::path& path, const std::string& what, const std::string& how) {
        earlier_.push_back(path.string() + ": " + what);
        found.push_back({path.string(), "has " + what + " of an earlier run", how});
    };
    const fs::path& folder = job.checkpoint_folder;
    const auto stored = folder.empty() ? std::vector<StoredCheckpoint>{} : checkpoints_in(folder);
    if (!stored.empty()) {
        const std::string newest = stored.front().folder.filename().string();
        add(folder,
            "checkpoints up to " + newest,
            "--resume to go on after it, --overwrite to delete them, or another "
            "job.checkpoint_folder");
        doomed_.push_back(folder / "latest");  // first, because it must not name a deleted folder
        for (const StoredCheckpoint& one : stored) {
            doomed_.push_back(one.folder);
        }
    }
    constexpr const char* kElsewhere =
        "--overwrite to delete it, --resume to go on, or another path";
    if (has_text(job.log_file)) {
        add(job.log_file, "the log", kElsewhere);
        emptied_ = job.log_file;
    }
    if (const auto curves = curves_in(job.tensorboard_folder); !curves.empty()) {
        add(job.tensorboard_folder, "the curves", kElsewhere);
        doomed_.insert(doomed_.end(), curves.begin(), curves.end());
    }
    return found;
}

ResultOrErrors<RunClaim> RunClaim::make(const TrainingJob& job, RunBegin begin) {
    RunClaim claim;
    Errors errors = claim.lock(job, begin == RunBegin::resume);
    if (errors.empty() && begin != RunBegin::resume) {
        const Errors earlier = claim.find(job);
        errors = begin == RunBegin::anew ? earlier : Errors{};
    }
    const bool deletes_weights = std::ranges::any_of(
        claim.doomed_, [&](const fs::path& path) { return lies_in(job.initial_weights, path); });
    if (begin == RunBegin::overwrite && deletes_weights) {
        errors.push_back({"job.initial_weights",
                          "lies among the checkpoints that --overwrite would delete",
                          "another job.checkpoint_folder"});
    }
    if (!errors.empty()) {
        return unexpected<Errors>(std::move(errors));
    }
    return claim;
}

Result<void> RunClaim::clear() const {
    for (const fs::path& path : doomed_) {
        if (Result<void> done = disk().remove(path); !done) {
            return done;
        }
    }
    std::error_code error;
    if (!emptied_.empty()) {
        fs::resize_file(emptied_, 0, error);
    }
    return error ? fail(emptied_.string(), "can't be emptied: " + error.message()) : Result<void>{};
}

}  // namespace orrery
