// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/case_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/base/check.h"
#include "scenarios/studies/validate/published_cases.h"

namespace orrery {

void CaseColumns::add(std::string_view names) {
    for (std::string& name : words_between(names, ',')) {
        names_.push_back(std::move(name));
    }
}

std::size_t CaseColumns::position(std::string_view name) const {
    const auto found = std::ranges::find_if(names_, [&](std::string_view column) {
        return column.substr(0, column.find('=')) == name;
    });
    return static_cast<std::size_t>(found - names_.begin());
}

const std::string& CaseFields::text(std::string_view column) const {
    const std::size_t position = columns_.position(column);
    ORRERY_CHECK(position < row_.fields.size());
    return row_.fields[position];
}

std::int64_t CaseFields::stated(std::string_view column, std::int64_t otherwise) const {
    return parse_integer(text(column)).value_or(otherwise);
}

double CaseFields::stated(std::string_view column) const {
    return parse_number(text(column)).value_or(0);
}

std::int64_t CaseFields::integer(std::string_view column, std::int64_t otherwise) {
    const std::optional<std::int64_t> value = parse_integer(text(column));
    if (text(column).empty() || (value && *value >= 0)) {
        return value.value_or(otherwise);
    }
    complain(column, "must be a whole number");
    return otherwise;
}

double CaseFields::number(std::string_view column) {
    const std::optional<double> value = parse_number(text(column));
    if (!text(column).empty() && (!value || *value < 0)) {
        complain(column, value ? "must not be negative" : "must be a number");
    }
    return value.value_or(0);
}

bool CaseFields::flag(std::string_view column) {
    const std::string& field = text(column);
    if (field != "true" && field != "false" && !field.empty()) {
        complain(column, "must be true or false");
    }
    return field == "true";
}

std::int64_t CaseFields::count(std::string_view column, std::int64_t most) {
    const std::optional<std::int64_t> value = parse_integer(text(column));
    if (value && *value >= 1 && *value <= most) {
        return *value;
    }
    refuse(column, "a whole number above zero");
    return 1;
}

double CaseFields::positive(std::string_view column) {
    const std::optional<double> value = parse_number(text(column));
    if (value && *value > 0) {
        return *value;
    }
    refuse(column, "a number above zero");
    return 1;
}

void CaseFields::complain(std::string_view column, std::string_view what) {
    complain_of_row(fmt::format("{} '{}' {}", column, text(column), what));
}

void CaseFields::refuse(std::string_view column, const char* hint) {
    complain_of_row(fmt::format("{} can't be '{}'", column, text(column).substr(0, 40)), hint);
}

}  // namespace orrery
