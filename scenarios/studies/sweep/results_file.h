// SPDX-License-Identifier: Apache-2.0
// Results of a sweep in an SQLite file, one row for each point, with the point's identity as key.
// One process writes at a time. PRAGMA application_id identifies the program and user_version the
// format. A file of another program or format is refused, never changed.
//   points(id, study, scenario, status, error, iteration_s, ... , answer)   answer: JSON
//   settings(point, position, key, value)                                   of each point
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/studies/sweep/study.h"

struct sqlite3;

namespace orrery {

inline constexpr std::int32_t kResultsFormat = 1;

struct PointResult {
    std::string id;
    std::string study;
    std::string scenario;
    Settings settings;
    std::string error;  // the reason for a missing answer; empty: there is one
    std::int64_t gpus = 0;
    double iteration_s = 0;
    double uncertainty = 0;
    double tokens_per_s = 0;
    double mfu = 0;
    double hfu = 0;
    std::int64_t peak_memory_bytes = 0;
    bool fits = false;
    double wall_s = 0;
    std::string version;  // BuildIdentity::short_name() of the program that ran it
    std::string answer;   // the complete answer with its provenance, as JSON

    // The user's name of the point: its scenario and its settings.
    static std::string name(const std::string& scenario, const Settings& settings);
    // Compares everything but the run times of the machine, in the row and in the JSON.
    bool same_result(const PointResult& other) const;
};

class ResultsFile {
public:
    enum class Access : std::uint8_t { read, write };

    // Write access makes a missing file.
    static Result<std::unique_ptr<ResultsFile>> open(const std::filesystem::path& path,
                                                     Access access);
    ~ResultsFile();
    ResultsFile(const ResultsFile&) = delete;
    ResultsFile& operator=(const ResultsFile&) = delete;

    // From now on added points survive the end of this process, but not a power failure. This is
    // many times as fast. No other process may have the file open.
    Result<void> write_ahead();
    // The point is on the disk when the function returns. An existing point must be equal.
    Result<void> add(const PointResult& point);
    Result<std::vector<std::string>> ids();
    // The names (PointResult::name) of points of other versions. They stay beside the points of
    // this version.
    Result<std::set<std::string>> names_of_other_versions(const std::string& version);
    Result<std::optional<PointResult>> find(const std::string& id);
    Result<void> for_each(const std::function<void(const PointResult&)>& visit);
    // Adds the points of another file in one transaction. Returns the number of new points.
    Result<std::int64_t> add_all_of(ResultsFile& other);

private:
    class Statement;

    ResultsFile(std::filesystem::path path, sqlite3* database);
    Result<void> check_or_make(Access access);
    Result<void> run(const char* sql);
    tl::unexpected<Error> trouble(const char* doing) const;
    Result<bool> insert(const PointResult& point);

    std::filesystem::path path_;
    sqlite3* database_;
};

// Removes a closed file together with SQLite's own files beside it.
void remove_results(const std::filesystem::path& path);

}  // namespace orrery
