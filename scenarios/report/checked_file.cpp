// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/checked_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "scenarios/format/document/wall_time_text.h"
#include "scenarios/report/render/json_text.h"
#include "scenarios/report/render/report_words.h"
#include "scenarios/report/search_report.h"

namespace orrery {
namespace {

std::string with_plan(const Scenario& scenario) {
    std::string text;
    for (const auto& [name, size] : plan_sizes(scenario.plan)) {
        if (name == "tp" || name == "pp" || name == "cp" || name == "dp") {
            text += fmt::format(", {} {}", name, size);
        }
    }
    const std::string& model = scenario.model.name;
    return fmt::format("{} on {} ({}){}",
                       model.empty() ? "a model" : model,
                       counted(scenario.cluster.num_ranks(), "rank"),
                       words_of(scenario.cluster),
                       text);
}

}  // namespace

std::string summary_of(const Scenario& scenario, bool network_alone) {
    if (network_alone) {
        return fmt::format(
            "{} ({})", counted(scenario.cluster.num_ranks(), "rank"), words_of(scenario.cluster));
    }
    if (scenario.document != nullptr && scenario.document->find("serving") != nullptr) {
        return fmt::format("{} by {} on {} ({})",
                           scenario.model.name,
                           scenario.serving.engine.name,
                           counted(scenario.serving.num_gpus(), "rank"),
                           words_of(scenario.cluster));
    }
    if (!scenario.jobs.empty()) {
        return fmt::format("{} on {} ({})",
                           counted(static_cast<std::int64_t>(scenario.jobs.size()), "job"),
                           counted(scenario.cluster.num_gpus(), "rank"),
                           words_of(scenario.cluster));
    }
    std::string text = with_plan(scenario);
    if (scenario.campaign.present) {
        text += fmt::format("; campaign of {}", to_short_text(scenario.campaign.length));
    }
    if (!scenario.faults.entries.empty()) {
        const auto faults = static_cast<std::int64_t>(scenario.faults.entries.size());
        text += "; " + (faults == 1 ? "1 entry" : thousands(faults) + " entries") + " of faults";
    }
    return text;
}

Report checked_sections(const std::vector<CheckedFile>& files) {
    ReportSection section{.title = "Files"};
    section.table.columns = {{"file"}, {"kind"}, {"errors", Unit::count}, {"what it says"}};
    for (const CheckedFile& file : files) {
        section.table.rows.push_back(
            {file.file,
             file.kind,
             file.errors.size(),
             file.errors.empty() ? file.summary : file.errors.front().to_string()});
    }
    return {.title = "Checked files", .sections = {std::move(section)}};
}

std::string checked_text(const std::vector<CheckedFile>& files) {
    std::string text;
    for (const CheckedFile& file : files) {
        text += file.errors.empty()
                    ? fmt::format("{}: {}: {}\n", file.file, file.kind, file.summary)
                    : "";
    }
    return text;
}

std::string checked_json(const std::vector<CheckedFile>& files) {
    using Json = nlohmann::ordered_json;
    Json list = json_list<Json>(files, [&](const CheckedFile& file) -> Json {
        Json errors = json_list<Json>(file.errors, [&](const Error& error) -> Json {
            return {{"where", error.where}, {"what", error.what}, {"hint", error.hint}};
        });
        return {{"file", file.file},
                {"kind", file.kind},
                {"right", file.errors.empty()},
                {"summary", file.errors.empty() ? file.summary : ""},
                {"errors", errors}};
    });
    const bool right =
        std::ranges::all_of(files, [](const CheckedFile& file) { return file.errors.empty(); });
    return json_text(Json{{"right", right}, {"files", list}});
}

}  // namespace orrery
