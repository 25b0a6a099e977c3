// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/sweep/sweep.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "scenarios/format/provenance/version.h"
#include "scenarios/studies/sweep/worker_processes.h"

namespace orrery {
namespace fs = std::filesystem;
namespace {

using FileAccess = ResultsFile::Access;

// Lock of a results file: one sweep at a time writes to it. The lock ends with the process.
class Lock {
public:
    static Result<std::unique_ptr<Lock>> of(const fs::path& path) {
        auto lock = std::make_unique<Lock>();
        lock->descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (lock->descriptor_ < 0) {
            return fail(path.string(),
                        fmt::format("can't be written: {}", std::strerror(errno)),
                        "does the folder exist, and may you write there?");
        }
        if (flock(lock->descriptor_, LOCK_EX | LOCK_NB) != 0) {
            return fail(path.string(),
                        "another sweep is writing to it",
                        "wait for its end, or choose another name with --results");
        }
        return lock;
    }
    Lock() = default;
    ~Lock() {
        if (descriptor_ >= 0) {
            close(descriptor_);
        }
    }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

private:
    int descriptor_ = -1;
};

fs::path part_of(const fs::path& results, std::int64_t worker) {
    return results.string() + fmt::format(".part-{}", worker);
}

std::vector<fs::path> parts_of(const fs::path& results) {
    std::vector<fs::path> parts;
    std::error_code error;
    const fs::path folder = results.has_parent_path() ? results.parent_path() : ".";
    const std::string prefix = results.filename().string() + ".part-";
    for (auto entry = fs::directory_iterator{folder, error};
         !error && entry != fs::directory_iterator{};
         entry.increment(error)) {
        const std::string name = entry->path().filename().string();
        const bool number = name.find_first_not_of("0123456789", prefix.size()) == name.npos;
        if (name.starts_with(prefix) && name.size() > prefix.size() && number) {
            parts.push_back(entry->path());
        }
    }
    std::ranges::sort(parts);
    return parts;
}

Result<void> add_file(ResultsFile& into, const fs::path& path, FileAccess access) {
    auto part = ResultsFile::open(path, access);
    if (!part) {
        return unexpected<Error>(part.error());
    }
    if (const auto added = into.add_all_of(**part); !added) {
        return unexpected<Error>(added.error());
    }
    return {};
}

// Adds the points that workers left in their own files, at the end of a sweep or after a kill.
Result<void> take_parts(const fs::path& results) {
    auto file = ResultsFile::open(results, FileAccess::write);
    if (!file) {
        return unexpected<Error>(file.error());
    }
    for (const fs::path& part : parts_of(results)) {
        // A worker may have been killed while it made its file. Opening with write access finishes
        // the file.
        if (const Result<void> added = add_file(**file, part, FileAccess::write); !added) {
            return added;
        }
        remove_results(part);
    }
    return {};
}

struct Todo {
    std::vector<std::int64_t> shard;   // numbers of the shard's points; of equal points the first
    std::vector<std::int64_t> points;  // points without a result
    std::int64_t outdated = 0;         // number of these with a result of another build
};

Result<Todo> what_is_left(const Study& study,
                          const StudyPoints& points,
                          const SweepOptions& options) {
    auto file = ResultsFile::open(options.results, FileAccess::read);
    if (!file) {
        return unexpected<Error>(file.error());
    }
    const auto known = (*file)->ids();
    if (!known) {
        return unexpected<Error>(known.error());
    }
    Todo todo;
    std::set<std::string> seen;
    for (std::int64_t number = 0; number < study.size(); ++number) {
        if (!options.shard.has(number)) {
            continue;
        }
        const std::string id = points.id_of(number);
        if (!seen.insert(id).second) {
            continue;
        }
        todo.shard.push_back(number);
        if (!std::ranges::binary_search(*known, id)) {
            todo.points.push_back(number);
        }
    }
    if (!todo.points.empty()) {
        const auto others = (*file)->names_of_other_versions(build_identity().short_name());
        if (!others) {
            return unexpected<Error>(others.error());
        }
        todo.outdated = std::ranges::count_if(todo.points, [&](std::int64_t number) {
            const StudyPoint point = point_of(study, number);
            const std::string scenario = study.scenarios[point.scenario].filename().string();
            return others->contains(PointResult::name(scenario, point.settings));
        });
    }
    return todo;
}

// A worker's file stays open from its first point on.
class Worker {
public:
    Worker(const StudyPoints& points, const fs::path& part) : points_(points), part_(part) {}

    Result<void> work(std::int64_t number) {
        if (!file_) {
            auto opened = ResultsFile::open(part_, FileAccess::write);
            if (!opened) {
                return unexpected<Error>(opened.error());
            }
            if (const Result<void> fast = (*opened)->write_ahead(); !fast) {
                return fast;
            }
            file_ = std::move(*opened);
        }
        return file_->add(points_.run(number));
    }

private:
    const StudyPoints& points_;
    fs::path part_;
    std::unique_ptr<ResultsFile> file_;
};

std::string name_of(const Study& study, std::int64_t number) {
    std::string text = fmt::format("point {}", number + 1);
    for (const auto& [key, value] : point_of(study, number).settings) {
        text += fmt::format(", {}={}", key, value);
    }
    return text;
}

Result<std::vector<std::string>> work_here(const Study& study,
                                           const StudyPoints& points,
                                           const Todo& todo,
                                           const SweepOptions& options) {
    const auto most = static_cast<std::int64_t>(todo.points.size());
    const auto workers =
        static_cast<std::uint32_t>(std::clamp<std::int64_t>(most, 1, options.jobs));
    std::unique_ptr<Worker> self;  // one per process
    const auto crashed = run_workers(
        workers,
        most,
        [&](std::uint32_t worker, std::int64_t at) {
            if (!self) {
                self = std::make_unique<Worker>(points, part_of(options.results, worker));
            }
            return self->work(todo.points[static_cast<std::size_t>(at)]);
        },
        [&](std::int64_t done) {
            if (options.progress) {
                options.progress(static_cast<double>(done) / static_cast<double>(most));
            }
        });
    if (!crashed) {
        return unexpected<Error>(crashed.error());
    }
    std::vector<std::string> names;
    for (const CrashedPoint& crash : *crashed) {
        const std::int64_t number = todo.points[static_cast<std::size_t>(crash.point)];
        names.push_back(fmt::format(
            "{}: its process was ended by signal {}", name_of(study, number), crash.signal));
    }
    return names;
}

Result<void> work_under_mpi(const StudyPoints& points,
                            const Todo& todo,
                            const SweepOptions& options,
                            MpiWorld& mpi) {
    Worker self{points, part_of(options.results, mpi.rank())};
    const auto most = static_cast<std::int64_t>(todo.points.size());
    for (std::int64_t at = mpi.next(); at < most; at = mpi.next()) {
        if (const Result<void> good = self.work(todo.points[static_cast<std::size_t>(at)]); !good) {
            return good;
        }
        if (options.progress) {
            options.progress(static_cast<double>(at) / static_cast<double>(most));
        }
    }
    return {};
}

Result<SweepOutcome> outcome_of(const StudyPoints& points,
                                const Todo& todo,
                                const fs::path& results) {
    auto file = ResultsFile::open(results, FileAccess::read);
    if (!file) {
        return unexpected<Error>(file.error());
    }
    const auto all = static_cast<std::int64_t>(todo.shard.size());
    SweepOutcome outcome{.points = all,
                         .known = all - static_cast<std::int64_t>(todo.points.size()),
                         .outdated = todo.outdated};
    for (const std::int64_t number : todo.shard) {
        auto found = (*file)->find(points.id_of(number));
        if (!found) {
            return unexpected<Error>(found.error());
        }
        if (*found) {
            outcome.results.push_back(std::move(**found));
        }
    }
    return outcome;
}

// Runs a step on rank 0 alone while the other ranks wait: the first and the last step.
template <class Step>
Result<void> on_leader(MpiWorld* mpi, const Step& step) {
    const bool leader = mpi == nullptr || mpi->rank() == 0;
    const Result<void> good = leader ? step() : Result<void>{};
    if (mpi != nullptr && !mpi->all_well(good.has_value()) && good) {
        return fail("mpirun", "rank 0 could not go on", {});
    }
    return good;
}

}  // namespace

Result<std::optional<SweepOutcome>> sweep(const Study& study,
                                          const SweepOptions& options,
                                          MpiWorld* mpi) {
    const bool leader = mpi == nullptr || mpi->rank() == 0;
    std::unique_ptr<Lock> lock;
    const Result<void> begun = on_leader(mpi, [&]() -> Result<void> {
        auto locked = Lock::of(options.results);
        if (!locked) {
            return unexpected<Error>(locked.error());
        }
        lock = std::move(*locked);
        return take_parts(options.results);
    });
    if (!begun) {
        return unexpected<Error>(begun.error());
    }
    const StudyPoints points{study, options.text};
    const Result<Todo> todo = what_is_left(study, points, options);
    Result<void> worked;
    std::vector<std::string> crashed;
    if (!todo) {
        worked = unexpected<Error>(todo.error());
    } else if (mpi != nullptr) {
        worked = work_under_mpi(points, *todo, options, *mpi);
    } else if (auto names = work_here(study, points, *todo, options)) {
        crashed = std::move(*names);
    } else {
        worked = unexpected<Error>(names.error());
    }
    const bool all_worked = mpi == nullptr ? worked.has_value() : mpi->all_well(worked.has_value());
    // Finished points are kept, even if others failed.
    if (leader) {
        const Result<void> taken = take_parts(options.results);
        worked = worked ? taken : worked;
    }
    if (!worked) {
        return unexpected<Error>(worked.error());
    }
    if (!all_worked) {
        return fail("mpirun", "another rank could not go on", "start it again to go on");
    }
    if (!leader) {
        return std::optional<SweepOutcome>{};
    }
    Result<SweepOutcome> outcome = outcome_of(points, *todo, options.results);
    if (!outcome) {
        return unexpected<Error>(outcome.error());
    }
    outcome->crashed = std::move(crashed);
    return std::optional{std::move(*outcome)};
}

Result<std::int64_t> merge_results(const std::vector<fs::path>& from, const fs::path& into) {
    // All inputs are checked before the output is made.
    std::vector<std::unique_ptr<ResultsFile>> inputs;
    for (const fs::path& path : from) {
        auto file = ResultsFile::open(path, FileAccess::read);
        if (!file) {
            return unexpected<Error>(file.error());
        }
        inputs.push_back(std::move(*file));
    }
    const auto lock = Lock::of(into);
    if (!lock) {
        return unexpected<Error>(lock.error());
    }
    auto file = ResultsFile::open(into, FileAccess::write);
    if (!file) {
        return unexpected<Error>(file.error());
    }
    std::int64_t added = 0;
    for (const auto& input : inputs) {
        const auto more = (*file)->add_all_of(*input);
        if (!more) {
            return unexpected<Error>(more.error());
        }
        added += *more;
    }
    return added;
}

}  // namespace orrery
