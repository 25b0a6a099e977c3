// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/sweep_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/plan_fields.h"
#include "scenarios/format/document/quantity.h"
#include "scenarios/format/specs/plan_key.h"
#include "scenarios/report/console_report.h"
#include "scenarios/report/json_text.h"
#include "scenarios/report/text_table.h"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

std::string value_of(const PointResult& point, const std::string& key) {
    for (const auto& [name, value] : point.settings) {
        if (name == key) {
            return value;
        }
    }
    return "";
}

std::string csv_field(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == text.npos) {
        return text;
    }
    std::string quoted = "\"";
    for (const char c : text) {
        quoted += c == '"' ? "\"\"" : std::string(1, c);
    }
    return quoted + "\"";
}

std::string time_text(double seconds) {
    return to_short_text(Time::seconds(seconds));
}

bool several_scenarios(const std::vector<PointResult>& results) {
    return std::ranges::any_of(
        results, [&](const PointResult& p) { return p.scenario != results.front().scenario; });
}

std::vector<TextRow> rows_of(const std::vector<PointResult>& results,
                             const std::vector<const PointResult*>& shown) {
    const std::vector<std::string> keys = swept_keys(results);
    const bool scenarios = several_scenarios(results);
    TextRow head;
    if (scenarios) {
        head.emplace_back("scenario");
    }
    for (const std::string& key : keys) {
        head.push_back(short_key(key));
    }
    for (const char* column : {"GPUs", "time", "MFU", "tokens/s", "memory", ""}) {
        head.emplace_back(column);
    }
    std::vector<TextRow> rows{head};
    for (const PointResult* point : shown) {
        TextRow row;
        if (scenarios) {
            row.push_back(point->scenario);
        }
        for (const std::string& key : keys) {
            row.push_back(value_of(*point, key));
        }
        if (point->error.empty()) {
            row.push_back(fmt::format("{}", point->gpus));
            row.push_back(time_text(point->iteration_s));
            row.push_back(fmt::format("{:.1f} %", point->mfu * 100));
            row.push_back(thousands(std::llround(point->tokens_per_s)));
            row.push_back(to_short_text(Bytes{point->peak_memory_bytes}));
            row.emplace_back(point->fits ? "" : "does not fit");
        } else {
            row.insert(row.end(), {"", "", "", "", "", point->error});
        }
        rows.push_back(std::move(row));
    }
    return rows;
}

std::string fastest_table(const std::vector<PointResult>& results,
                          const std::vector<const PointResult*>& shown) {
    const std::size_t left = swept_keys(results).size() + (several_scenarios(results) ? 1 : 0);
    return text_table(rows_of(results, shown), left);
}

constexpr std::size_t kShownMax = 20;

}  // namespace

// The keys of all points, in the order in which they appear.
std::vector<std::string> swept_keys(const std::vector<PointResult>& results) {
    std::vector<std::string> keys;
    for (const PointResult& point : results) {
        for (const auto& [key, value] : point.settings) {
            if (std::ranges::find(keys, key) == keys.end()) {
                keys.push_back(key);
            }
        }
    }
    return keys;
}

// The literature's short name of a plan's size, or the key without its section.
std::string short_key(const std::string& key) {
    std::string_view word = std::string_view{key}.substr(key.rfind('.') + 1);
    for_each_plan_field([&](const auto& field) {
        if (!field.short_name.empty() && plan_key(field) == key) {
            word = field.short_name;
        }
    });
    return std::string{word};
}

std::vector<TextRow> sweep_rows(const std::vector<PointResult>& results) {
    std::vector<const PointResult*> all;
    for (const PointResult& point : results) {
        all.push_back(&point);
    }
    return rows_of(results, all);
}

std::string sweep_report(const std::string& name, const SweepOutcome& outcome) {
    std::vector<const PointResult*> answers;
    std::vector<const PointResult*> errors;
    for (const PointResult& point : outcome.results) {
        (point.error.empty() ? answers : errors).push_back(&point);
    }
    std::ranges::stable_sort(answers, [](const PointResult* a, const PointResult* b) {
        return std::pair{!a->fits, -a->tokens_per_s} < std::pair{!b->fits, -b->tokens_per_s};
    });
    std::string text = fmt::format("{}: {}, {} of them finished before\n\n",
                                   name,
                                   counted(outcome.points, "point"),
                                   outcome.known);
    if (!answers.empty()) {
        const std::size_t shown = std::min(answers.size(), kShownMax);
        const std::vector<const PointResult*> first{
            answers.begin(), answers.begin() + static_cast<std::ptrdiff_t>(shown)};
        text += fastest_table(outcome.results, first);
        if (shown < answers.size()) {
            text += fmt::format("  and {} slower ones, or ones that do not fit\n",
                                answers.size() - shown);
        }
    }
    if (!errors.empty()) {
        text += fmt::format("\nNo answer: {}\n\n",
                            counted(static_cast<std::int64_t>(errors.size()), "point"));
        for (std::size_t i = 0; i < std::min<std::size_t>(errors.size(), 5); ++i) {
            std::string settings;
            for (const auto& [key, value] : errors[i]->settings) {
                settings += fmt::format("{}{}={}", settings.empty() ? "" : " ", key, value);
            }
            text += fmt::format("  {}\n    {}\n", settings, errors[i]->error);
        }
        text += errors.size() > 5 ? fmt::format("  and {} more\n", errors.size() - 5) : "";
    }
    for (const std::string& crash : outcome.crashed) {
        text += fmt::format("\n{}; it is run again at the next start\n", crash);
    }
    return text;
}

std::string sweep_json(const std::string& name, const SweepOutcome& outcome) {
    Json points = Json::array();
    for (const PointResult& point : outcome.results) {
        Json settings = Json::object();
        for (const auto& [key, value] : point.settings) {
            settings[key] = value;
        }
        Json json{{"id", point.id}, {"scenario", point.scenario}, {"settings", settings}};
        if (point.error.empty()) {
            json["answer"] = Json::parse(point.answer);
        } else {
            json["error"] = point.error;
        }
        points.push_back(std::move(json));
    }
    const Json json{{"study", name},
                    {"points", outcome.points},
                    {"known", outcome.known},
                    {"outdated", outcome.outdated},
                    {"crashed", outcome.crashed},
                    {"results", points}};
    return json_text(json);
}

std::string sweep_csv(const std::vector<PointResult>& results) {
    const std::vector<std::string> keys = swept_keys(results);
    std::string text = "scenario";
    for (const std::string& key : keys) {
        text += "," + csv_field(key);
    }
    text += ",gpus,iteration_s,uncertainty,tokens_per_s,mfu,hfu,peak_memory_bytes,fits,error\n";
    for (const PointResult& point : results) {
        text += csv_field(point.scenario);
        for (const std::string& key : keys) {
            text += "," + csv_field(value_of(point, key));
        }
        if (point.error.empty()) {
            text += fmt::format(",{},{},{},{},{},{},{},{},\n",
                                point.gpus,
                                point.iteration_s,
                                point.uncertainty,
                                point.tokens_per_s,
                                point.mfu,
                                point.hfu,
                                point.peak_memory_bytes,
                                point.fits ? 1 : 0);
        } else {
            text += ",,,,,,,,," + csv_field(point.error) + "\n";
        }
    }
    return text;
}

}  // namespace orrery
