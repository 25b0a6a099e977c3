// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/keys_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "scenarios/report/render/json_text.h"
#include "scenarios/report/render/text_table.h"

namespace orrery {
namespace {

constexpr std::size_t kLineWidth = 100;

std::string default_words(const ScenarioKey& key) {
    switch (key.use) {
        case FieldUse::required:
            return "required";
        case FieldUse::derived:
            return "derived";
        case FieldUse::optional:
            break;
    }
    return key.default_value;
}

}  // namespace

std::string keys_report(const std::vector<ScenarioKey>& keys) {
    std::size_t widest = 0;
    for (const ScenarioKey& key : keys) {
        widest = std::max(widest, key.key.size());
    }
    std::string text;
    for (const ScenarioKey& key : keys) {
        text += fmt::format("{:<{}}  {:<10}  {}\n{}",
                            key.key,
                            widest,
                            default_words(key),
                            key.values,
                            wrapped(key.meaning, kLineWidth, 4));
    }
    return text;
}

std::string key_page(const ScenarioKey& key) {
    std::string text = key.key + "\n" + wrapped(key.meaning, kLineWidth, 4);
    const auto line = [&](std::string_view what, const std::string& words) {
        if (!words.empty()) {
            text += fmt::format("    {:<12}{}\n", what, words);
        }
    };
    line("values", key.values);
    line("default", default_words(key));
    line("in tables", key.short_name);
    line("Megatron-LM", fmt::format("{}", fmt::join(key.flags, ", ")));
    line("search", key.searched ? "varies it" : "");
    return text;
}

Report keys_sections(const std::vector<ScenarioKey>& keys) {
    ReportSection section{.title = "Keys"};
    section.table.columns = {{"key"}, {"default"}, {"values"}, {"meaning"}};
    for (const ScenarioKey& key : keys) {
        section.table.rows.push_back({key.key, default_words(key), key.values, key.meaning});
    }
    return {.title = "Keys of a scenario", .sections = {std::move(section)}};
}

std::string keys_json(const std::vector<ScenarioKey>& keys) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const ScenarioKey& key : keys) {
        nlohmann::ordered_json json{{"key", key.key},
                                    {"values", key.values},
                                    {"default", nullptr},
                                    {"required", key.use == FieldUse::required},
                                    {"derived", key.use == FieldUse::derived},
                                    {"meaning", key.meaning},
                                    {"short_name", nullptr},
                                    {"megatron_flags", key.flags},
                                    {"searched", key.searched}};
        if (key.use == FieldUse::optional) {
            json["default"] = key.default_value;
        }
        if (!key.short_name.empty()) {
            json["short_name"] = key.short_name;
        }
        list.push_back(std::move(json));
    }
    return json_text(nlohmann::ordered_json{{"keys", list}});
}

}  // namespace orrery
