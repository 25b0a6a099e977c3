// SPDX-License-Identifier: Apache-2.0
// What every report writes as JSON: an object as text. Names of files may hold bytes that are not
// UTF-8; they are replaced, never a failure. Templates, so that nlohmann-json stays in sources.
#pragma once

#include <string>

namespace orrery {

// Indented by two, with a line's end.
template <class Json>
std::string json_text(const Json& json) {
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

// On one line.
template <class Json>
std::string json_line(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Null where zero means that a figure is not known.
template <class Json>
Json known_or_null(double value) {
    return value > 0 ? Json(value) : Json();
}

// What `of` makes of each item.
template <class Json, class Items, class Of>
Json json_list(const Items& items, const Of& of) {
    Json list = Json::array();
    for (const auto& item : items) {
        list.push_back(of(item));
    }
    return list;
}

}  // namespace orrery
