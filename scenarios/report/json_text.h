// SPDX-License-Identifier: Apache-2.0
// What every report writes as JSON: an object as lines of text. Names of files may hold bytes that
// are not UTF-8; they are replaced, never a failure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace orrery {

// Indented by two, with a line's end.
std::string json_text(const nlohmann::ordered_json& json);
// On one line.
std::string json_line(const nlohmann::ordered_json& json);

}  // namespace orrery
