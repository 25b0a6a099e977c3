// SPDX-License-Identifier: Apache-2.0
// JSON objects as text, for every report. Bytes that are not UTF-8, for example in file names, are
// replaced and never cause a failure. The functions are templates, so that only sources include
// nlohmann-json.
#pragma once

#include <string>

namespace orrery {

// Indented by two spaces, with a newline at the end.
template <class Json>
std::string json_text(const Json& json) {
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

// On one line.
template <class Json>
std::string json_line(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Null if the value is 0, which means that the figure is unknown.
template <class Json>
Json known_or_null(double value) {
    return value > 0 ? Json(value) : Json();
}

// A list of the results of `of` for each item.
template <class Json, class Items, class Of>
Json json_list(const Items& items, const Of& of) {
    Json list = Json::array();
    for (const auto& item : items) {
        list.push_back(of(item));
    }
    return list;
}

}  // namespace orrery
