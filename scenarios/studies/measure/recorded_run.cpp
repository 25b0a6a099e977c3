// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/measure/recorded_run.h"

#include <fmt/format.h>

#include "models/lowering/lowering.h"
#include "scenarios/format/document/json_document.h"
#include "scenarios/format/document/map_reader.h"
#include "scenarios/format/provenance/stored_result.h"

namespace orrery {
namespace {

constexpr const char* kDescription = "run.json";
constexpr const char* kOldDescription = "run.yaml";  // had only the scenario's path

struct StoredRun {
    RunDescription description;
    Scenario scenario;
};

Error no_description(const std::filesystem::path& folder) {
    std::error_code none;
    if (std::filesystem::is_regular_file(folder, none)) {
        return {folder.string(),
                "is a file, and the folder of a recorded run is due",
                fmt::format("orrery train {} --record FOLDER makes one; orrery diff compares two "
                            "scenarios or results",
                            folder.extension() == ".yaml" ? folder.string() : "SCENARIO")};
    }
    const std::string again = "orrery train SCENARIO --record " + folder.string();
    return std::filesystem::exists(folder / kOldDescription, none)
               ? Error{(folder / kOldDescription).string(),
                       "was recorded by an older version, which kept the path of the scenario "
                       "and not the scenario",
                       "record it again: " + again}
               : Error{folder.string(),
                       "there is no recorded run (no run.json)",
                       again + " makes one"};
}

ResultOrErrors<StoredRun> read_description(const std::filesystem::path& folder) {
    const std::filesystem::path file = folder / kDescription;
    std::error_code none;
    if (!std::filesystem::exists(file, none)) {
        return unexpected<Errors>(Errors{no_description(folder)});
    }
    const auto document = read_json_file(file);
    if (!document) {
        return unexpected<Errors>(document.error());
    }
    if (!document->is_map()) {
        return unexpected<Errors>(Errors{{file.string(), "this is not a recorded run", ""}});
    }
    Errors errors;
    RunDescription run;
    MapReader reader{*document, "", errors};
    reader.word("machine", run.machine);
    reader.integer("ranks", run.ranks, {1, 1 << 20}, Presence::required);
    reader.boolean("overlaps", run.overlaps);
    reader.find("provenance");
    reader.finish();
    if (!errors.empty()) {
        return unexpected<Errors>(std::move(errors));
    }
    const auto stored = stored_provenance(*document);
    if (!stored) {
        return unexpected<Errors>(stored.error());
    }
    run.build = stored->build;
    auto scenario = scenario_of_result(*stored, file.string());
    if (!scenario) {
        return unexpected<Errors>(scenario.error());
    }
    return StoredRun{std::move(run), std::move(*scenario)};
}

}  // namespace

Result<void> begin_run_folder(const std::filesystem::path& folder) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (!error) {
        std::filesystem::remove(folder / kDescription, error);
        std::filesystem::remove(folder / kOldDescription, error);
    }
    if (error) {
        return fail(folder.string(),
                    "can't be the folder of a recording: " + error.message(),
                    "choose another folder");
    }
    return {};
}

std::filesystem::path run_description_file(const std::filesystem::path& folder) {
    return folder / kDescription;
}

ResultOrErrors<RecordedRun> read_recorded_run(const std::filesystem::path& folder) {
    auto stored = read_description(folder);
    if (!stored) {
        return unexpected<Errors>(stored.error());
    }
    RecordedRun run{.description = std::move(stored->description),
                    .scenario = on_own_runtime(std::move(stored->scenario)),
                    .program = {},
                    .steps = {},
                    .ranks = {}};
    run.program = lower(run.scenario.model, run.scenario.plan);
    for (std::uint32_t rank = 0; rank < run.description.ranks; ++rank) {
        auto recording = read_recording(folder, rank);
        if (!recording) {
            return unexpected<Errors>(recording.error());
        }
        run.ranks.push_back(std::move(*recording));
    }
    auto steps = measured_steps(run.program, run.ranks, run.description.overlaps);
    if (!steps) {
        Error error = steps.error();
        error.where = error.where.empty() ? folder.string() : folder.string() + ", " + error.where;
        return unexpected<Errors>(Errors{std::move(error)});
    }
    run.steps = std::move(*steps);
    return run;
}

}  // namespace orrery
