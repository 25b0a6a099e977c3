// SPDX-License-Identifier: Apache-2.0
// Results of a sweep in an SQLite file, one row a point, found by the point's identity. Written by
// one process at a time. PRAGMA application_id tells whose file it is, user_version which format:
// a file of another program or format is refused, never changed.
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
    std::string error;  // why there is no answer; empty: there is one
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
    std::string answer;   // all of it with its provenance, as JSON

    // What a user calls the point: its scenario and its settings.
    static std::string name(const std::string& scenario, const Settings& settings);
    // All but the times of the machine that ran it, in the row and in the JSON.
    bool same_result(const PointResult& other) const;
};

class ResultsFile {
public:
    enum class Access : std::uint8_t { read, write };

    // Write access makes the file if it is not there.
    static Result<std::unique_ptr<ResultsFile>> open(const std::filesystem::path& path,
                                                     Access access);
    ~ResultsFile();
    ResultsFile(const ResultsFile&) = delete;
    ResultsFile& operator=(const ResultsFile&) = delete;

    // From now on what is added survives the end of this process, but no longer a power failure:
    // many times as fast. No other process may have the file open.
    Result<void> write_ahead();
    // On the disk when it returns. A point that is there already must be the same.
    Result<void> add(const PointResult& point);
    Result<std::vector<std::string>> ids();
    // Names (PointResult::name) of the points that another version ran. They stay beside the points
    // that this version runs.
    Result<std::set<std::string>> names_of_other_versions(const std::string& version);
    Result<std::optional<PointResult>> find(const std::string& id);
    Result<void> for_each(const std::function<void(const PointResult&)>& visit);
    // Adds the points of another one in one transaction; how many were new.
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

// Removes a file that is not open anywhere, and SQLite's own files beside it.
void remove_results(const std::filesystem::path& path);

}  // namespace orrery
