// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/facts_report.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "scenarios/report/render/json_text.h"

namespace orrery {
namespace {

nlohmann::ordered_json fact_json(const Fact& fact) {
    if (const auto* words = std::get_if<std::string>(&fact.value.value)) {
        return *words;
    }
    const auto* number = std::get_if<double>(&fact.value.value);
    if (number == nullptr) {
        return nullptr;
    }
    return fact.unit == Unit::count ? nlohmann::ordered_json(std::llround(*number))
                                    : nlohmann::ordered_json(*number);
}

}  // namespace

Report facts_report(std::string sentence, const std::vector<Fact>& facts) {
    Report report{.title = std::move(sentence)};
    std::vector<Cell> row;
    for (const Fact& fact : facts) {
        report.result.columns.push_back({.title = fact.name, .unit = fact.unit, .digits = 4});
        row.push_back(fact.value);
        report.cards.push_back({cell_text(fact.value, fact.unit, 4), fact.name});
    }
    report.result.rows.push_back(std::move(row));
    return report;
}

std::string facts_json(const std::vector<Fact>& facts) {
    nlohmann::ordered_json json = nlohmann::ordered_json::object();
    for (const Fact& fact : facts) {
        json[fact.name] = fact_json(fact);
    }
    return json_text(json);
}

}  // namespace orrery
