// SPDX-License-Identifier: Apache-2.0
#include "scenarios/measure/recorded_run.h"

#include <fmt/format.h>

#include "models/lowering.h"
#include "runtime/state/crc32c.h"
#include "scenarios/output_file.h"
#include "scenarios/read/map_reader.h"
#include "scenarios/read/yaml_document.h"
#include "scenarios/reader.h"

namespace orrery {
namespace {

constexpr const char* kDescription = "run.yaml";

Result<std::uint32_t> checksum_of(const std::filesystem::path& file) {
    const Result<std::string> text = read_text_file(file);
    if (!text) {
        return unexpected<Error>(text.error());
    }
    return crc32c({std::as_bytes(std::span{*text})});
}

void read_overrides(MapReader& reader, std::vector<std::string>& overrides) {
    const DocumentNode* list = reader.find("overrides");
    if (list == nullptr || list->kind == DocumentNode::Kind::null) {
        return;
    }
    for (const DocumentNode& item : list->items) {
        overrides.push_back(item.text);
    }
    if (!list->is_sequence()) {
        reader.complain("overrides", "overrides must be a list");
    }
}

ResultOrErrors<RunDescription> read_description(const std::filesystem::path& folder) {
    const std::filesystem::path file = folder / kDescription;
    std::error_code none;
    if (!std::filesystem::exists(file, none)) {
        return unexpected<Errors>(
            Errors{{folder.string(),
                    "there is no recorded run (no run.yaml)",
                    "orrery train SCENARIO --record " + folder.string() + " makes one"}});
    }
    const auto document = read_yaml_file(file);
    if (!document) {
        return unexpected<Errors>(document.error());
    }
    Errors errors;
    RunDescription run;
    if (!document->is_map()) {
        return unexpected<Errors>(Errors{{file.string(), "this is not a recorded run", ""}});
    }
    MapReader reader{*document, "", errors};
    std::string scenario;
    std::int64_t checksum = 0;
    reader.word("scenario", scenario, Presence::required);
    reader.integer("checksum", checksum, {0, 0xFFFF'FFFF}, Presence::required);
    reader.word("machine", run.machine);
    reader.integer("ranks", run.ranks, {1, 1 << 20}, Presence::required);
    reader.boolean("overlaps", run.overlaps);
    read_overrides(reader, run.overrides);
    reader.finish();
    if (!errors.empty()) {
        return unexpected<Errors>(std::move(errors));
    }
    run.scenario = scenario;
    const Result<std::uint32_t> now = checksum_of(run.scenario);
    if (!now) {
        return unexpected<Errors>(Errors{now.error()});
    }
    if (*now != checksum) {
        return unexpected<Errors>(Errors{
            {scenario, "the scenario has changed since the run was recorded", "record it again"}});
    }
    return run;
}

}  // namespace

Result<void> begin_run_folder(const std::filesystem::path& folder) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (!error) {
        std::filesystem::remove(folder / kDescription, error);
    }
    if (error) {
        return fail(folder.string(), "can't be the folder of a recording: " + error.message());
    }
    return {};
}

Result<void> write_run_description(const std::filesystem::path& folder, const RunDescription& run) {
    std::error_code error;
    const std::filesystem::path scenario = std::filesystem::absolute(run.scenario, error);
    const Result<std::uint32_t> checksum = checksum_of(scenario);
    if (!checksum) {
        return unexpected<Error>(checksum.error());
    }
    auto file = OutputFile::open(folder / kDescription);
    if (!file) {
        return unexpected<Error>(file.error());
    }
    DocumentNode description;
    put(description, "scenario", scalar_node(scenario.string()));
    put(description, "checksum", scalar_node(fmt::format("{}", *checksum)));
    put(description, "machine", scalar_node(run.machine));
    put(description, "ranks", scalar_node(fmt::format("{}", run.ranks)));
    put(description, "overlaps", scalar_node(fmt::format("{}", run.overlaps)));
    put(description, "overrides", list_node(run.overrides));
    (*file)->stream() << to_yaml(description);
    return (*file)->commit();
}

ResultOrErrors<RecordedRun> read_recorded_run(const std::filesystem::path& folder) {
    auto description = read_description(folder);
    if (!description) {
        return unexpected<Errors>(description.error());
    }
    ReadOptions options;
    options.overrides = description->overrides;
    auto scenario = read_scenario(description->scenario, options);
    if (!scenario) {
        return unexpected<Errors>(scenario.error());
    }
    RecordedRun run{.description = std::move(*description),
                    .scenario = on_own_runtime(std::move(*scenario)),
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
