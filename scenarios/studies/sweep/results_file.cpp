// SPDX-License-Identifier: Apache-2.0
// The one owner of SQLite.
#include "scenarios/studies/sweep/results_file.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <array>
#include <tuple>
#include <utility>

namespace orrery {
namespace fs = std::filesystem;
namespace {

constexpr std::int32_t kApplicationId = 0x4f525259;  // "ORRY"
constexpr int kWaitForOthersMs = 5000;

constexpr const char* kMakeTables = R"(
CREATE TABLE points(
    id TEXT PRIMARY KEY, study TEXT NOT NULL, scenario TEXT NOT NULL, error TEXT NOT NULL,
    gpus INTEGER, iteration_s REAL, uncertainty REAL, tokens_per_s REAL, mfu REAL, hfu REAL,
    peak_memory_bytes INTEGER, fits INTEGER, wall_s REAL, version TEXT, answer TEXT) STRICT;
CREATE TABLE settings(
    point TEXT NOT NULL, position INTEGER NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY(point, position)) STRICT, WITHOUT ROWID;
)";
constexpr const char* kInsertPoint =
    "INSERT OR IGNORE INTO points VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15)";
constexpr const char* kSelectPoints =
    "SELECT id, study, scenario, error, gpus, iteration_s, uncertainty, tokens_per_s, mfu, hfu, "
    "peak_memory_bytes, fits, wall_s, version, answer FROM points";

}  // namespace

class ResultsFile::Statement {
public:
    Statement(sqlite3* database, const std::string& sql) {
        good_ = sqlite3_prepare_v2(database, sql.c_str(), -1, &statement_, nullptr) == SQLITE_OK;
    }
    ~Statement() { sqlite3_finalize(statement_); }
    Statement(const Statement&) = delete;
    Statement& operator=(const Statement&) = delete;

    void bind(const std::string& text) {
        const int size = static_cast<int>(text.size());
        good_ =
            good_ && sqlite3_bind_text(statement_, ++bound_, text.data(), size, SQLITE_TRANSIENT) ==
                         SQLITE_OK;
    }
    void bind(std::int64_t value) {
        good_ = good_ && sqlite3_bind_int64(statement_, ++bound_, value) == SQLITE_OK;
    }
    void bind(double value) {
        good_ = good_ && sqlite3_bind_double(statement_, ++bound_, value) == SQLITE_OK;
    }
    // Whether there is a further row. `good` distinguishes the end from an error.
    bool step() {
        const int status = good_ ? sqlite3_step(statement_) : SQLITE_ERROR;
        good_ = good_ && (status == SQLITE_ROW || status == SQLITE_DONE);
        return status == SQLITE_ROW;
    }
    bool good() const { return good_; }

    std::string text(int column) const {
        const auto* bytes = sqlite3_column_text(statement_, column);
        const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
        return bytes == nullptr ? "" : std::string{reinterpret_cast<const char*>(bytes), size};
    }
    std::int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }
    double real(int column) const { return sqlite3_column_double(statement_, column); }

    PointResult point() const {
        return {.id = text(0),
                .study = text(1),
                .scenario = text(2),
                .error = text(3),
                .gpus = integer(4),
                .iteration_s = real(5),
                .uncertainty = real(6),
                .tokens_per_s = real(7),
                .mfu = real(8),
                .hfu = real(9),
                .peak_memory_bytes = integer(10),
                .fits = integer(11) != 0,
                .wall_s = real(12),
                .version = text(13),
                .answer = text(14)};
    }

private:
    sqlite3_stmt* statement_ = nullptr;
    bool good_ = false;
    int bound_ = 0;
};

std::string PointResult::name(const std::string& scenario, const Settings& settings) {
    std::string text = scenario;
    for (const auto& [key, value] : settings) {
        text += fmt::format("\n{}={}", key, value);
    }
    return text;
}

bool PointResult::same_result(const PointResult& other) const {
    const auto values = [](const PointResult& p) {
        return std::tuple{p.id,
                          p.scenario,
                          p.error,
                          p.gpus,
                          p.iteration_s,
                          p.uncertainty,
                          p.tokens_per_s,
                          p.mfu,
                          p.hfu,
                          p.peak_memory_bytes,
                          p.fits,
                          p.version};
    };
    return values(*this) == values(other);
}

ResultsFile::ResultsFile(fs::path path, sqlite3* database)
    : path_(std::move(path)), database_(database) {}

ResultsFile::~ResultsFile() {
    sqlite3_close(database_);
}

tl::unexpected<Error> ResultsFile::trouble(const char* doing) const {
    const int code = sqlite3_errcode(database_);
    std::string hint = code == SQLITE_BUSY     ? "another program has it open: wait for its end"
                       : code == SQLITE_NOTADB ? "name another file"
                       : code == SQLITE_FULL   ? "the disk is full"
                                               : "";
    return fail(path_.string(),
                fmt::format("can't be {}: {}", doing, sqlite3_errmsg(database_)),
                std::move(hint));
}

Result<void> ResultsFile::run(const char* sql) {
    if (sqlite3_exec(database_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) {
        return trouble("written");
    }
    return {};
}

Result<std::unique_ptr<ResultsFile>> ResultsFile::open(const fs::path& path, Access access) {
    std::error_code ignored;
    if (access == Access::read && !fs::exists(path, ignored)) {
        return fail(path.string(), "there is no such file", "the results of an orrery sweep");
    }
    if (path == "-") {
        return fail("--output", "results can't be standard output", "the name of a file");
    }
    // SQLite would report this only at the first read.
    if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored)) {
        return fail(path.string(), "is not the name of a file", "give a file name");
    }
    const int flags = SQLITE_OPEN_READWRITE | (access == Access::write ? SQLITE_OPEN_CREATE : 0);
    sqlite3* database = nullptr;
    const int status = sqlite3_open_v2(path.c_str(), &database, flags, nullptr);
    std::unique_ptr<ResultsFile> file{new ResultsFile{path, database}};
    if (status != SQLITE_OK) {
        return fail(path.string(),
                    fmt::format("can't be opened: {}", sqlite3_errmsg(database)),
                    "does the folder exist, and may you write there?");
    }
    sqlite3_busy_timeout(database, kWaitForOthersMs);
    if (const Result<void> good = file->check_or_make(access); !good) {
        return unexpected<Error>(good.error());
    }
    return file;
}

Result<void> ResultsFile::check_or_make(Access access) {
    std::array<std::int64_t, 3> numbers{};
    const std::array queries{
        "PRAGMA application_id", "PRAGMA user_version", "SELECT count(*) FROM sqlite_schema"};
    for (std::size_t i = 0; i < queries.size(); ++i) {
        Statement statement{database_, queries[i]};
        if (!statement.step()) {
            return trouble("read");
        }
        numbers[i] = statement.integer(0);
    }
    const auto [application, format, tables] = numbers;
    if (tables == 0 && application == 0 && access == Access::write) {
        const std::string mark = fmt::format(
            "PRAGMA application_id={};PRAGMA user_version={};", kApplicationId, kResultsFormat);
        return run(("BEGIN IMMEDIATE;" + std::string{kMakeTables} + mark + "COMMIT;").c_str());
    }
    if (application != kApplicationId) {
        return fail(path_.string(),
                    "is not a file of results of orrery sweep",
                    "it was left as it is; name another file");
    }
    if (format != kResultsFormat) {
        return fail(
            path_.string(),
            fmt::format("holds results in format {}; this program reads and writes format {}",
                        format,
                        kResultsFormat),
            "it was left as it is; name another file");
    }
    return {};
}

Result<bool> ResultsFile::insert(const PointResult& point) {
    Statement statement{database_, kInsertPoint};
    for (const std::string* text : {&point.id, &point.study, &point.scenario, &point.error}) {
        statement.bind(*text);
    }
    statement.bind(point.gpus);
    for (const double value :
         {point.iteration_s, point.uncertainty, point.tokens_per_s, point.mfu, point.hfu}) {
        statement.bind(value);
    }
    statement.bind(point.peak_memory_bytes);
    statement.bind(std::int64_t{point.fits});
    statement.bind(point.wall_s);
    statement.bind(point.version);
    statement.bind(point.answer);
    statement.step();
    if (!statement.good()) {
        return trouble("written");
    }
    if (sqlite3_changes(database_) == 0) {
        const auto there = find(point.id);
        if (!there) {
            return unexpected<Error>(there.error());
        }
        if (!*there || !(*there)->same_result(point)) {
            return fail(path_.string(),
                        fmt::format("has another result for the point {}", point.id),
                        "the same version gave two results: please report it");
        }
        return false;
    }
    std::int64_t position = 0;
    for (const auto& [key, value] : point.settings) {
        Statement setting{database_, "INSERT INTO settings VALUES(?1,?2,?3,?4)"};
        setting.bind(point.id);
        setting.bind(position++);
        setting.bind(key);
        setting.bind(value);
        setting.step();
        if (!setting.good()) {
            return trouble("written");
        }
    }
    return true;
}

Result<void> ResultsFile::add(const PointResult& point) {
    if (const Result<void> begun = run("BEGIN IMMEDIATE"); !begun) {
        return begun;
    }
    const Result<bool> inserted = insert(point);
    const Result<void> ended = run(inserted ? "COMMIT" : "ROLLBACK");
    return inserted ? ended : unexpected<Error>(inserted.error());
}

Result<void> ResultsFile::write_ahead() {
    return run(
        "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;");
}

Result<std::vector<std::string>> ResultsFile::ids() {
    std::vector<std::string> ids;
    Statement statement{database_, "SELECT id FROM points ORDER BY id"};
    while (statement.step()) {
        ids.push_back(statement.text(0));
    }
    if (!statement.good()) {
        return trouble("read");
    }
    return ids;
}

Result<std::set<std::string>> ResultsFile::names_of_other_versions(const std::string& version) {
    Statement statement{database_,
                        "SELECT id, scenario, key, value FROM points LEFT JOIN settings ON point = "
                        "id WHERE version <> ?1 ORDER BY id, position"};
    statement.bind(version);
    std::set<std::string> names;
    std::string id;
    std::string scenario;
    Settings settings;
    const auto end_of_point = [&] {
        if (!id.empty()) {
            names.insert(PointResult::name(scenario, settings));
        }
        settings.clear();
    };
    while (statement.step()) {
        if (statement.text(0) != id) {
            end_of_point();
            id = statement.text(0);
            scenario = statement.text(1);
        }
        if (!statement.text(2).empty()) {
            settings.emplace_back(statement.text(2), statement.text(3));
        }
    }
    end_of_point();
    if (!statement.good()) {
        return trouble("read");
    }
    return names;
}

Result<std::optional<PointResult>> ResultsFile::find(const std::string& id) {
    Statement statement{database_, std::string{kSelectPoints} + " WHERE id = ?1"};
    statement.bind(id);
    if (!statement.step()) {
        if (!statement.good()) {
            return trouble("read");
        }
        return std::optional<PointResult>{};
    }
    PointResult point = statement.point();
    Statement settings{database_,
                       "SELECT key, value FROM settings WHERE point = ?1 ORDER BY position"};
    settings.bind(id);
    while (settings.step()) {
        point.settings.emplace_back(settings.text(0), settings.text(1));
    }
    if (!settings.good()) {
        return trouble("read");
    }
    return std::optional{std::move(point)};
}

Result<void> ResultsFile::for_each(const std::function<void(const PointResult&)>& visit) {
    const auto all = ids();
    if (!all) {
        return unexpected<Error>(all.error());
    }
    for (const std::string& id : *all) {
        const auto point = find(id);
        if (!point) {
            return unexpected<Error>(point.error());
        }
        if (*point) {
            visit(**point);
        }
    }
    return {};
}

Result<std::int64_t> ResultsFile::add_all_of(ResultsFile& other) {
    if (const Result<void> begun = run("BEGIN IMMEDIATE"); !begun) {
        return unexpected<Error>(begun.error());
    }
    std::int64_t added = 0;
    Result<void> good;
    const Result<void> read = other.for_each([&](const PointResult& point) {
        if (good) {
            const Result<bool> inserted = insert(point);
            if (inserted) {
                added += *inserted ? 1 : 0;
            } else {
                good = unexpected<Error>(inserted.error());
            }
        }
    });
    good = good ? read : good;
    good = good ? run("COMMIT") : good;
    if (!good) {
        (void)run("ROLLBACK");
        return unexpected<Error>(good.error());
    }
    return added;
}

void remove_results(const fs::path& path) {
    std::error_code ignored;
    for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
        fs::remove(path.string() + suffix, ignored);
    }
}

}  // namespace orrery
