// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/sweep_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/plan/plan_fields.h"
#include "scenarios/format/specs/plan_key.h"
#include "scenarios/report/render/json_text.h"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

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

}  // namespace

std::string value_of(const PointResult& point, const std::string& key) {
    for (const auto& [name, value] : point.settings) {
        if (name == key) {
            return value;
        }
    }
    return "";
}

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

// Usual short name of a plan's size, or the key without its section.
std::string short_key(const std::string& key) {
    std::string_view word = std::string_view{key}.substr(key.rfind('.') + 1);
    for_each_plan_field([&](const auto& field) {
        if (!field.short_name.empty() && plan_key(field) == key) {
            word = field.short_name;
        }
    });
    return std::string{word};
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
